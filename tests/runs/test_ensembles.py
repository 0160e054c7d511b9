"""Finished runs that translate together: the mean of their probabilities predicts."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from toy import ABLE, parallel, some_lines, train_small, turned, write_corpus, write_lines

import regard
from regard.cli import main
from regard.data.batch import BOS, EOS, UNKNOWN, Batch, Padded
from regard.data.line import Line
from regard.data.parallel import Parallel
from regard.errors import UsageError
from regard.models.base import Model
from regard.runs.folder import Run
from regard.runs.load import load_model, load_predictor
from regard.search.beam import Beam

Corpus = dict[str, Path]
LINES = some_lines(20, seed=7)
GREEDY = Beam(beam=1, max_length_ratio=1, max_length_extra=3)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> Path:
    folder = tmp_path_factory.mktemp("first") / "run"
    return train_small(folder, corpus, steps=80).path


@pytest.fixture(scope="module", params=["transformer", "lstm"])
def other(
    request: pytest.FixtureRequest,
    first: Path,
    tmp_path_factory: pytest.TempPathFactory,
    corpus: Corpus,
) -> Path:
    folder = tmp_path_factory.mktemp(request.param) / "run"
    if request.param == "transformer":
        return train_small(folder, corpus, steps=80, seed=5, tokenizer=first).path
    return regard.train(
        "lstm_attention",
        run=folder,
        steps=40,
        settings=ABLE,
        tokenizer=first,
        quiet=True,
        **parallel(corpus),
    ).path


def models(*paths: Path) -> list[Model]:
    return [load_model(Run.open(path))[0].eval() for path in paths]


def mean(members: list[Model], source: list[int], target: list[int]) -> torch.Tensor:
    """The mean of the members' probabilities at each position of a target, (T, V)."""
    batch = Batch(Padded.of([source]), Padded.of([target]))
    found = []
    for member in members:
        logs = member.choices(batch)
        assert logs is not None
        found.append(logs[0].double().exp())
    return torch.stack(found).mean(dim=0)


def greedy(members: list[Model], source: list[int]) -> list[int]:
    """The most probable token by the mean, one after the other, each from the beginning again."""
    written: list[int] = []
    limit = int(GREEDY.limits(torch.tensor(len(source))))
    while len(written) < limit - 1:
        probabilities = mean(members, source, [*written, EOS])[-1]
        probabilities[[*range(BOS + 1), UNKNOWN]] = 0
        best = int(probabilities.argmax())
        if best == EOS:
            break
        written.append(best)
    return written


def translated(members: list[Path], run: Path) -> list[str]:
    """What greedy search by the mean writes for each line."""
    predictor, loaded = regard.load(run), models(*members)
    sources = predictor.read_sources([Line(line) for line in LINES])
    sides = Run.open(run).tokenizers()
    return [sides.target.decode(greedy(loaded, [*row.ids, EOS])) for row in sources]


def test_translations_are_those_of_the_mean(first: Path, other: Path) -> None:
    together = load_predictor(Run.open(first), GREEDY, ensemble=[other])(LINES)
    assert together == translated([first, other], first)
    alone = [load_predictor(Run.open(path), GREEDY)(LINES) for path in (first, other)]
    assert together not in alone
    assert alone[0] == translated([first], first)


def test_scores_are_those_of_the_mean(first: Path, other: Path, tmp_path: Path) -> None:
    targets = [turned(line) for line in LINES]
    data = Parallel(
        write_lines(tmp_path / "source", LINES), write_lines(tmp_path / "target", targets)
    )
    loaded, predictor = models(first, other), regard.load(first)
    sources = predictor.read_sources([Line(line) for line in LINES])
    rows = [[*row.ids, EOS] for row in predictor.read_targets(targets)]
    scored = regard.score(first, data, ensemble=[other], workers=1)
    for source, row, (log_probability, tokens) in zip(sources, rows, scored, strict=True):
        each = mean(loaded, [*source.ids, EOS], row).gather(1, torch.tensor(row)[:, None])
        assert tokens == len(row)
        assert log_probability == pytest.approx(float(each.log().sum()), abs=1e-3)
    alone = regard.score(first, data, workers=1)
    assert not math.isclose(scored[0][0], alone[0][0], abs_tol=1e-3)


def test_the_verbs_have_it(
    first: Path, other: Path, corpus: Corpus, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = write_lines(tmp_path / "lines", LINES)
    ensemble = ["--ensemble", str(other), "--workers", "1"]
    assert main(["translate", str(first), "--input", str(lines), *ensemble]) == 0
    assert capfd.readouterr().out.splitlines() == regard.load([first, other])(LINES)
    files = [f"--source={corpus['valid_source']}", f"--target={corpus['valid_target']}"]
    assert main(["evaluate", str(first), *files, *ensemble]) == 0
    assert "|runs:2]" in capfd.readouterr().out.splitlines()[0]
    assert main(["compare", str(first), str(first), *files, *ensemble]) == 0
    told = capfd.readouterr().out.splitlines()
    assert told[0].endswith(f"baseline\t{first}")
    assert told[1].endswith(f"{first} with {other}")
    assert main(["score", str(first), *files, *ensemble]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 20


def test_what_cannot_translate_together_is_refused(
    first: Path, corpus: Corpus, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    apart = train_small(tmp_path / "apart", corpus, "tokenizer.vocabulary=10", steps=1).path
    with pytest.raises(UsageError, match=r"apart has a different tokenizer from .*--tokenizer"):
        regard.load([first, apart])
    with pytest.raises(UsageError, match="is given twice"):
        regard.load([first, first])
    lines = write_lines(tmp_path / "lines", LINES)
    command = ["translate", str(first), "--input", str(lines), "--ensemble"]
    for given, sentence in (
        ([str(apart)], "has a different tokenizer from"),
        ([str(tmp_path / "gone")], "is not a run"),
    ):
        assert main([*command, *given]) == 2
        told = capfd.readouterr()
        assert sentence in told.err
        assert told.out == ""
        assert "Traceback" not in told.err
