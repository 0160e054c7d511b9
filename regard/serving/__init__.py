"""A server for trained runs: the HTTP API of LibreTranslate, and its limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Optional, Union

from regard.errors import RegardError


def serve(
    runs: Union[str, Path, Sequence[Union[str, Path]]],
    *,
    host: str = "127.0.0.1",
    port: int = 5000,
    limits: Sequence[str] = (),
    beam: Optional[int] = None,
    api_keys: Union[str, Path, None] = None,
    api_key_required: bool = False,
    metrics_token: Optional[str] = None,
    behind_proxy: bool = False,
    engine: Literal["torch", "ctranslate2"] = "torch",
    int8: bool = False,
    say: Callable[[str], None] = print,
) -> None:
    """Serve a run or several until a signal comes: SIGTERM and Ctrl-C finish what was accepted."""
    try:
        from regard.serving import server
    except ModuleNotFoundError as error:
        raise RegardError(
            f"The package {error.name} is missing: install the extra, pip install 'regard[serve]'."
        ) from None
    several = [runs] if isinstance(runs, (str, Path)) else runs
    keys = None if api_keys is None else Path(api_keys)
    access = (keys, api_key_required, metrics_token, behind_proxy, engine, int8)
    server.serve(several, host, port, limits, beam, *access, say)
