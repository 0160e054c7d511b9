"""The verb that serves runs to other programs and to people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Optional, cast

import typer

from regard.cli.completion import complete_run
from regard.cli.options import BeamWidth, Device, EngineName, Int8, say


def serve(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN",
            help="Run folders. RUN:en:de names the languages of a run, RUN+RUN is an ensemble.",
            autocompletion=complete_run,
        ),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0: all interfaces.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free port.")
    ] = 5000,
    limit: Annotated[
        Optional[list[str]],
        typer.Option(
            metavar="NAME=VALUE",
            help="Change a limit, such as characters=5000; may be repeated.",
        ),
    ] = None,
    beam: BeamWidth = None,
    api_keys: Annotated[
        Optional[Path],
        typer.Option(help="File of API keys, one per line: KEY [TEXTS_PER_MINUTE [CHARACTERS]]."),
    ] = None,
    require_api_key: Annotated[
        bool, typer.Option("--require-api-key", help="Refuse requests without a key.")
    ] = False,
    metrics_token: Annotated[
        Optional[str],
        typer.Option(envvar="REGARD_METRICS_TOKEN", help="Bearer token required for /metrics."),
    ] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="Trust X-Forwarded-For and X-Forwarded-Proto from a proxy on this machine.",
        ),
    ] = False,
    engine: EngineName = "torch",
    int8: Int8 = False,
    device: Device = None,
) -> None:
    """Serve runs over HTTP, with the API of LibreTranslate.

    On Ctrl-C and SIGTERM, the server finishes the requests it has accepted, then stops.
    """
    from regard.cli.options import refuse
    from regard.serving import serve

    if api_keys is None:
        refuse("without --api-keys", {"--require-api-key": require_api_key})
    serve(
        runs,
        host=host,
        port=port,
        limits=limit or (),
        beam=beam,
        api_keys=api_keys,
        api_key_required=require_api_key,
        metrics_token=metrics_token,
        behind_proxy=behind_proxy,
        engine=cast(Literal["torch", "ctranslate2"], engine),
        int8=int8,
        say=say,
    )
