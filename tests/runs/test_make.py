"""A run that was made and not trained does everything but what needs data of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from toy import parallel, some_lines, train_small, turned, write_corpus, write_lines

import regard
from regard.cli import main
from regard.data.parallel import Parallel
from regard.errors import UsageError
from regard.models.weights import collect
from regard.runs.folder import Run
from regard.runs.load import load_model
from regard.runs.make import make_run

Corpus = dict[str, Path]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module", params=["ema", "none", "last"])
def trained(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, corpus: Corpus
) -> Run:
    folder = tmp_path_factory.mktemp("trained") / "run"
    average = f"training.average.kind={request.param}"
    return train_small(folder, corpus, average, "training.average.every=2")


@pytest.fixture(scope="module")
def made(trained: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "deep" / "run"
    model, _ = load_model(trained)
    facts = {"languages": {"source": "en", "target": "de"}}
    make_run(folder, trained.config, trained.tokenizers(), model, "a copy of another", facts)
    return folder


def test_it_has_the_weights_and_translates_as_they_do(trained: Run, made: Path) -> None:
    before, after = (collect(load_model(run)[0]) for run in (trained, Run.open(made)))
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    lines = some_lines(10, seed=3)
    assert regard.load(made)(lines) == regard.load(trained.path)(lines)
    assert not [path for path in made.parent.iterdir() if path != made]


def test_the_verbs_that_need_no_data_of_its_own_work(
    made: Path, corpus: Corpus, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = [f"--source={corpus['valid_source']}", f"--target={corpus['valid_target']}"]
    source = ["--input", str(corpus["valid_source"])]
    page = str(tmp_path / "look.html")
    for command in (
        ["translate", str(made), *source, "--alignments", str(tmp_path / "links")],
        ["evaluate", str(made), *files],
        ["compare", str(made), str(made), *files],
        ["score", str(made), *files],
        ["align", str(made), *files],
        ["look", str(made), "ant bee", "--output", page],
        ["info", str(made)],
        ["distill", str(made), *files[:1], "--output", str(tmp_path / "distilled")],
    ):
        assert main(command) == 0, (command, capfd.readouterr().err)
    told = capfd.readouterr()
    assert "mean of all heads" in told.err
    assert "a copy of another" in told.out
    assert "en to de" in told.out


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["train", "--run"], "there is nothing to resume; start a new run from it with --from"),
        (["train", "--steps=9", "--more", "--run"], "there is nothing to resume"),
        (["train", "tiny", "--run"], "there is nothing to resume"),
        (["evaluate"], "it has no validation data; give --source and --target"),
        (["score"], "it has no validation data; give --source and --target"),
        (["watch"], "there are no curves or snapshots to show"),
        (["look", "--serve"], "it has no sentences to begin with; give one"),
        (["translate", "--shortlist=5"], "it has no training data, which this needs"),
    ],
)
def test_what_needs_its_own_data_is_refused_in_one_sentence(
    command: list[str], sentence: str, made: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, str(made)]) == 2
    told = capfd.readouterr().err
    assert f"{made} is a copy of another: {sentence}" in told
    assert len(told.strip().splitlines()) <= 2


def test_a_new_run_starts_from_it(made: Path, corpus: Corpus, tmp_path: Path) -> None:
    run = regard.train(start=made, run=tmp_path / "run", steps=2, quiet=True, **parallel(corpus))
    assert json.loads((run.path / "data.json").read_text())["start"]["from"] == str(made)
    assert run.origin is None
    assert regard.evaluate(run.path)


def test_other_files_are_not_overwritten(trained: Run, tmp_path: Path) -> None:
    write_lines(tmp_path / "text", map(turned, some_lines(2, seed=1)))
    model, _ = load_model(trained)
    with pytest.raises(UsageError, match="holds other files"):
        make_run(tmp_path, trained.config, trained.tokenizers(), model, "a copy")
    with pytest.raises(UsageError, match="is a run already"):
        make_run(trained.path, trained.config, trained.tokenizers(), model, "a copy")
    assert regard.evaluate(trained.path, Parallel())
