"""Sequence-level distillation (Kim & Rush 2016, arXiv 1606.07947): a teacher's translations of the
training source become the targets that a student learns from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Optional

from regard.data.annotations import Kinds
from regard.data.corpus import read_lines
from regard.data.languages import Languages
from regard.data.line import Line
from regard.data.parallel import Parallel, PathLike, check_parallel, paths_of
from regard.data.text import read_plain
from regard.errors import UsageError
from regard.files import check_outputs
from regard.metrics.base import Score
from regard.metrics.table import metrics_for
from regard.metrics.text import TextMetrics
from regard.predict import Predictor
from regard.processes.limit import worker_count
from regard.runs.directions import tags_for
from regard.runs.folder import Run
from regard.runs.identity import weights_digest
from regard.runs.load import load_predictor
from regard.runs.resumable import CHUNK, write_resumably
from regard.search.base import Search
from regard.terminal import Count, uncounted

Say = Callable[[str], None]


def distill(
    teacher: PathLike,
    data: Parallel,
    *,
    output: PathLike,
    search: Optional[Search] = None,
    workers: Optional[int] = None,
    say: Say = print,
    count: Count = uncounted,
) -> Optional[Score]:
    """Write the teacher's translation of each source line to a file, in order; empty lines stay.

    After an interruption, the same call resumes. With a target, the score of the translations
    against it is returned. `count` is called with the number of lines done since its last call.
    """
    check_parallel(data)
    run = Run.open(Path(teacher))
    if not run.config.reads_source:
        raise UsageError("A language model reads no source: give a run that translates.")
    if len(paths_of(data.source)) != 1 or len(paths_of(data.target)) > 1 or data.pairs is not None:
        raise UsageError("Give the text to translate as one --source, one sentence per line.")
    data.check_read_by(run.config.annotations)
    texts = (*paths_of(data.source), *paths_of(data.target))
    check_outputs([Path(output)], (*texts, *data.beside().values()))
    digest = _check(data, run.config.annotations)
    tags = tags_for(run, Languages(*data.languages), say)
    predictor = load_predictor(run, search, workers=worker_count(workers), tags=tags, say=say)
    identity = {**identity_of(run, predictor, say), "source": digest}
    translate_resumably(
        *(predictor, _lines(data, run.config.annotations), Path(output), identity, _translation),
        say,
        count,
    )
    return None if data.target is None else _score(run, data, Path(output))


def identity_of(run: Run, predictor: Predictor, say: Say) -> dict[str, Any]:
    """Everything besides the text that its translations depend on."""
    return {
        "weights": weights_digest(run, say),
        "search": predictor.search.model_dump(mode="json"),
        "workers": predictor.workers,
        "chunk": CHUNK,
        "tags": predictor.tags,
    }


def translate_resumably(
    predictor: Predictor,
    lines: Iterable[Line],
    output: Path,
    identity: Mapping[str, Any],
    written: Callable[[Line, str], str],
    say: Say,
    count: Count,
) -> None:
    """Write what `written` makes of each line and its translation. Each chunk is translated by
    itself, with the same batches wherever the work was stopped. Say how many lines were truncated,
    before it was stopped or since."""

    def work(chunk: Sequence[tuple[int, Line]]) -> Iterable[str]:
        some = [line for _, line in chunk]
        found = predictor.predict(some, first=chunk[0][0])
        return (written(*both) for both in zip(some, (each.text for each in found), strict=True))

    predictor.truncated = write_resumably(
        output, identity, enumerate(lines), work, count, lambda: predictor.truncated
    )
    predictor.report_truncated(say)


def _translation(line: Line, translation: str) -> str:
    return translation


def _lines(data: Parallel, kinds: Kinds) -> Iterable[Line]:
    return read_lines(paths_of(data.source)[0], data.beside(), kinds)


def _check(data: Parallel, kinds: Kinds) -> str:
    """Read everything once, to find errors before the work begins; return the hash of the text."""
    digest = hashlib.sha256()
    (source,), given = paths_of(data.source), paths_of(data.target)
    targets = read_plain(given[0]) if given else None
    number = 0
    for number, (line, target) in enumerate(zip_longest(_lines(data, kinds), targets or ()), 1):
        if line is None or (targets is not None and target is None):
            shorter, longer = (source, given[0]) if line is None else (given[0], source)
            raise UsageError(
                f"{shorter} ends before line {number:,} of {longer}: line n of one must belong "
                "to line n of the other."
            )
        digest.update(repr(tuple(line)).encode())
    if not number:
        raise UsageError(f"{source} is empty: give a file with one sentence per line.")
    return digest.hexdigest()


def _score(run: Run, data: Parallel, output: Path) -> Score:
    """The main metric of the teacher's translations, where there is something to translate."""
    references = read_plain(paths_of(data.target)[0])
    sources = _lines(data, run.config.annotations)
    lines = zip(sources, read_plain(output), references, strict=True)
    kept = [
        (line.text, found, target)
        for line, found, target in lines
        if line.text.strip() and target.strip()
    ]
    sources, outputs, targets = zip(*kept, strict=True) if kept else ((), (), ())
    config, plain = run.config, TextMetrics(bootstrap=0)
    metric = metrics_for(config.writes, plain, targets, config.metric)[0]
    return metric.score(sources, outputs, targets)
