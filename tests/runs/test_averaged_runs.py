"""The average of several runs, or of the last checkpoints of one, is a run like any other."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from toy import parallel, some_lines, train_small, write_corpus

import regard
from regard.cli import main
from regard.errors import RegardError, UsageError
from regard.models.weights import collect
from regard.runs.folder import Run
from regard.runs.load import load_model, model_at

Corpus = dict[str, Path]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> Path:
    folder = tmp_path_factory.mktemp("first") / "run"
    return train_small(folder, corpus, "training.keep=3", save_every=2, steps=6).path


@pytest.fixture(scope="module")
def tuned(first: Path, tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> list[Path]:
    """Two runs that started from the same weights."""
    folder = tmp_path_factory.mktemp("tuned")
    return [
        regard.train(
            start=first,
            run=folder / str(seed),
            steps=3,
            settings=[f"training.seed={seed}", f"model.dropout=0.{seed}"],
            quiet=True,
            **parallel(corpus),
        ).path
        for seed in (1, 2)
    ]


def weights(run: Path) -> dict[str, torch.Tensor]:
    return collect(load_model(Run.open(run))[0])


def test_weights_are_the_mean(tuned: list[Path], tmp_path: Path) -> None:
    told: list[str] = []
    made = regard.average(tuned, run=tmp_path / "run", say=told.append)
    one, other, mean = (weights(path) for path in (*tuned, made.path))
    assert any(not torch.equal(one[name], other[name]) for name in one)
    for name, tensor in mean.items():
        torch.testing.assert_close(tensor, (one[name] + other[name]) / 2)
    assert made.origin == f"the average of {tuned[0]} (step 3) and {tuned[1]} (step 3)"
    assert told == []
    assert regard.load(made.path)(some_lines(3, seed=1))


def test_the_last_checkpoints_of_one_run(first: Path, tmp_path: Path) -> None:
    made = regard.average([first], run=tmp_path / "run", last=2)
    run = Run.open(first)
    last = [collect(model_at(run, each)) for each in run.checkpoints().last(2)]
    for name, tensor in weights(made.path).items():
        torch.testing.assert_close(tensor, (last[0][name] + last[1][name]) / 2)
    assert made.origin is not None
    assert "(step 4) and" in made.origin


def test_the_average_of_one_checkpoint_is_that_checkpoint(first: Path, tmp_path: Path) -> None:
    made = regard.average(first, run=tmp_path / "run", last=1)
    run = Run.open(first)
    (last,) = run.checkpoints().last(1)
    own = collect(model_at(run, last))
    assert all(torch.equal(own[name], each) for name, each in weights(made.path).items())


def test_a_run_and_the_one_it_started_from_are_related(
    first: Path, tuned: list[Path], tmp_path: Path
) -> None:
    told: list[str] = []
    regard.average([first, tuned[0]], run=tmp_path / "run", say=told.append)
    assert told == []


def test_runs_that_are_not_related_are_averaged_with_a_note(
    first: Path, corpus: Corpus, tmp_path: Path
) -> None:
    other = train_small(tmp_path / "other", corpus, seed=5, tokenizer=first).path
    told: list[str] = []
    regard.average([first, other], run=tmp_path / "run", say=told.append)
    assert len(told) == 1
    assert "did not start from the same weights" in told[0]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (["model.heads=1"], "differ in model.heads"),
        (["model.width=32", "model.inner=8"], "differ in model.inner and model.width"),
        (["tokenizer.vocabulary=10"], "a different tokenizer"),
    ],
)
def test_what_has_no_average_is_refused(
    settings: list[str], named: str, first: Path, corpus: Corpus, tmp_path: Path
) -> None:
    other = train_small(tmp_path / "other", corpus, *settings, steps=1).path
    with pytest.raises(UsageError, match=named):
        regard.average([first, other], run=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_other_mistakes(
    first: Path, tmp_path: Path, corpus: Corpus, capfd: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "new"
    lstm = regard.train(
        "lstm_attention", run=tmp_path / "lstm", steps=1, quiet=True, **parallel(corpus)
    ).path
    empty = tmp_path / "empty"
    empty.mkdir()
    for given, sentence in (
        ([first], "Give several runs, or --last N"),
        ([first, first], "given twice"),
        ([first, tmp_path / "gone"], "is not a run"),
        ([first, empty], "is not a run"),
        ([first, lstm], "only runs of one kind can be averaged"),
        ([first, "--last=9"], "has 3 checkpoints, not 9: give --last 3 or less"),
    ):
        assert main(["average", *map(str, given), "--run", str(new)]) == 2
        told = capfd.readouterr().err
        assert sentence in told
        assert "Traceback" not in told
    assert main(["average", str(first), "--last=2", "--run", str(first)]) == 2
    assert "is a run already" in capfd.readouterr().err
    assert not new.exists()


def test_a_run_without_a_checkpoint_is_refused(first: Path, tmp_path: Path, corpus: Corpus) -> None:
    begun = Run.create(tmp_path / "begun", Run.open(first).config)
    Run.open(first).tokenizers().save(begun.path)
    with pytest.raises(RegardError, match="has no checkpoint yet"):
        regard.average([first, begun.path], run=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_command_says_what_it_made(
    tuned: list[Path], corpus: Corpus, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "run"
    assert main(["average", *map(str, tuned), "--run", str(made)]) == 0
    assert f"Wrote {made}: the average of" in capfd.readouterr().err
    further = regard.train(
        start=made, run=tmp_path / "further", steps=1, quiet=True, **parallel(corpus)
    )
    assert regard.evaluate(further.path)
