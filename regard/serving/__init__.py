"""A server for trained runs: the HTTP API of LibreTranslate, and its limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Optional, Union

from regard.errors import RegardError


def serve(
    runs: Sequence[Union[str, Path]],
    host: str = "127.0.0.1",
    port: int = 5000,
    limits: Sequence[str] = (),
    beam: Optional[int] = None,
    api_keys: Optional[Path] = None,
    api_key_required: bool = False,
    metrics_token: Optional[str] = None,
    behind_proxy: bool = False,
    say: Callable[[str], None] = print,
) -> None:
    """Serve runs until a signal comes: SIGTERM and Ctrl-C finish what was accepted."""
    try:
        from regard.serving import server
    except ModuleNotFoundError as error:
        raise RegardError(
            f"The package {error.name} is missing: install the extra, pip install 'regard[serve]'."
        ) from None
    access = (api_keys, api_key_required, metrics_token, behind_proxy)
    server.serve(runs, host, port, limits, beam, *access, say)
