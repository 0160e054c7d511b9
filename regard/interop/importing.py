"""From a folder of another tool to a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from regard.data.languages import Languages
from regard.data.parallel import PathLike
from regard.interop.marian import read_folder
from regard.messages import counted
from regard.runs.folder import Run
from regard.runs.make import make_run


def import_model(
    folder: PathLike,
    *,
    run: PathLike,
    languages: Languages = Languages(),  # noqa: B008
    say: Callable[[str], None] = print,
) -> Run:
    """Make a run of an OPUS-MT or other Marian folder of Hugging Face."""
    path, given = Path(run), Languages.of(*languages)
    Run.check_free(path)
    found = read_folder(Path(folder))
    spoken = given.or_else(found.languages)
    facts = {"languages": spoken._asdict()} if any(spoken) else None
    origin = f"an import of {Path(folder)}"
    made = make_run(path, found.config, found.tokenizers, found.model, origin, facts)
    size = sum(each.numel() for each in found.model.parameters())
    say(f"Made {path}: a transformer of {counted(size, 'parameter')}.")
    return made
