"""Back-translation (Sennrich et al. 2016, arXiv 1511.06709): a run of the reverse direction makes a
source for each line of target text that has none."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Optional

from regard.data.languages import Languages
from regard.data.line import Line
from regard.data.parallel import PathLike
from regard.data.tags import SYNTHETIC
from regard.data.text import read_plain
from regard.errors import UsageError
from regard.files import check_outputs
from regard.processes.limit import worker_count
from regard.runs.directions import tags_for
from regard.runs.distill import identity_of, translate_resumably
from regard.runs.folder import Run
from regard.runs.load import load_predictor
from regard.search.base import Search
from regard.terminal import Count, uncounted

Say = Callable[[str], None]


def augment(
    reverse: PathLike,
    target: PathLike,
    *,
    output: PathLike,
    tag: bool = True,
    search: Optional[Search] = None,
    languages: tuple[Optional[str], Optional[str]] = (None, None),
    workers: Optional[int] = None,
    say: Say = print,
    count: Count = uncounted,
) -> None:
    """Write a TSV of synthetic pairs: the translation of each line by a run that translates from
    the target language, and the line itself, in order. An empty line stays one.

    A synthetic source begins with the tag <bt>, unless `tag` is false, so that a model can tell it
    from a real one. After an interruption, the same call resumes. `languages` are those between
    which a run of several languages translates. `count` is told how many more lines are done.
    """
    run, text = Run.open(Path(reverse)), Path(target)
    if not run.config.reads_source or run.config.writes != "text" or run.config.annotations:
        raise UsageError(
            f"{run.path} does not translate plain text: give a run that does, trained from the "
            "target language to the source language."
        )
    tags = tags_for(run, Languages(*languages), say)
    check_outputs([Path(output)], [text])
    digest = _check(text)
    predictor = load_predictor(run, search, workers=worker_count(workers), tags=tags, say=say)
    identity = {**identity_of(run, predictor, say), "target": digest, "synthetic": tag}

    def pair(line: Line, translation: str) -> str:
        source = translation.replace("\t", " ").strip()
        if not source:  # a pair with an empty side is not trained on
            return ""
        written = f"{SYNTHETIC} {source}" if tag else source
        return f"{written}\t{line.text.replace(chr(9), ' ').strip()}"

    lines = (Line(each) for each in read_plain(text))
    translate_resumably(predictor, lines, Path(output), identity, pair, say, count)


def _check(path: Path) -> str:
    """Read everything once, to find errors before the work begins; return the hash of the text."""
    digest, filled = hashlib.sha256(), False
    for line in read_plain(path):
        digest.update(f"{line}\n".encode("utf-8", "replace"))
        filled = filled or bool(line.strip())
    if not filled:
        raise UsageError(f"{path} is empty: give a file with one sentence per line.")
    return digest.hexdigest()
