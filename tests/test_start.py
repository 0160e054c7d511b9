"""A run that starts from another one has its weights and tokenizer, and then stands alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from toy import SMALL, Crash, at_step, crash, journal, parallel, tensors, train_small, write_corpus

import regard
from regard.cli import main
from regard.errors import RegardError, UsageError
from regard.models.weights import collect
from regard.runs.folder import Run
from regard.runs.load import build_model, load_model

Corpus = dict[str, Path]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def more(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Other text, from which another tokenizer would be made."""
    return write_corpus(tmp_path_factory.mktemp("more"), pairs=40, seed=7)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> Path:
    return train_small(tmp_path_factory.mktemp("first") / "run", corpus, steps=12).path


def train_from(
    start: object, run: Path, corpus: Corpus, *settings: str, recipe: str | None = None
) -> Run:
    return regard.train(
        recipe,
        run=run,
        start=str(start),
        settings=settings,
        steps=6,
        quiet=True,
        **parallel(corpus),
    )


def test_weights_and_tokenizer_are_those_of_the_other_run(
    first: Path, more: Corpus, tmp_path: Path
) -> None:
    run = train_from(first, tmp_path / "run", more)
    other, _ = load_model(Run.open(first))
    begun = collect(build_model(run))
    assert all(torch.equal(begun[name], tensor) for name, tensor in collect(other).items())
    name = "tokenizer.json"
    assert (run.path / name).read_bytes() == (first / name).read_bytes()
    trained = collect(load_model(run)[0])
    assert any(not torch.equal(trained[name], tensor) for name, tensor in begun.items())


def test_settings_are_those_of_the_other_run_but_gentle(
    first: Path, more: Corpus, tmp_path: Path
) -> None:
    old = Run.open(first).config
    new = train_from(first, tmp_path / "a", more).config
    assert new.model == old.model
    assert new.training.optimizer.rate == pytest.approx(old.training.optimizer.rate / 10)
    assert (old.training.dropout_start, new.training.dropout_start) == (1 / 3, 1.0)
    chosen = "training.optimizer.rate=0.5"
    assert train_from(first, tmp_path / "b", more, chosen).config.training.optimizer.rate == 0.5
    sizes = [each for each in SMALL if each.startswith("model.")]
    by_recipe = train_from(first, tmp_path / "c", more, *sizes, recipe="tiny").config
    assert by_recipe.training.optimizer.rate == pytest.approx(4e-4)  # of 4e-3
    assert by_recipe.training.dropout_start == 1.0
    assert by_recipe.tokenizer == old.tokenizer


def test_a_part_leaves_the_rest_of_the_model_new(first: Path, more: Corpus, tmp_path: Path) -> None:
    settings = (*SMALL[1:], "model.decoder_layers=2")
    run = train_from(f"{first}:encoder", tmp_path / "run", more, *settings, recipe="tiny")
    assert run.config.training.optimizer.rate == 0.003  # the recipe's own: most is new
    other, begun = collect(load_model(Run.open(first))[0]), collect(build_model(run))
    for name, tensor in begun.items():
        same = name in other and torch.equal(tensor, other[name])
        assert same == name.startswith("encoder.") or tensor.unique().numel() == 1, name


@pytest.mark.parametrize(
    ("part", "setting", "recipe", "named"),
    [
        ("", "model.width=32", None, "model.width"),
        ("", "model.tying=none", None, "model.tying"),
        ("", "training.seed=1", "lstm_attention", "model.kind"),
        (":encoder", "model.inner=32", None, "model.inner"),
        (":decoders", "training.seed=1", None, "no part 'decoders': choose decoder or encoder"),
        (":", "training.seed=1", None, "names no part"),
        ("", "tokenizer.kind=bpe", None, "tokenizer.kind has no effect"),
        ("-gone", "training.seed=1", None, "is not a run"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(
    part: str,
    setting: str,
    recipe: str | None,
    named: str,
    first: Path,
    more: Corpus,
    tmp_path: Path,
) -> None:
    with pytest.raises(UsageError, match=named):
        train_from(f"{first}{part}", tmp_path / "run", more, setting, recipe=recipe)
    assert not (tmp_path / "run").exists()


def test_resuming_is_exact_and_needs_the_new_folder_alone(
    first: Path, more: Corpus, tmp_path: Path
) -> None:
    old = shutil.copytree(first, tmp_path / "old")
    train_from(old, tmp_path / "whole", more, "training.save_every=2")
    with pytest.raises(Crash), at_step(5, crash):
        train_from(old, tmp_path / "stopped", more, "training.save_every=2")
    shutil.rmtree(old)
    train_from(old, tmp_path / "stopped", more, "training.save_every=2")
    assert tensors(tmp_path / "stopped", 6) == tensors(tmp_path / "whole", 6)
    assert journal(tmp_path / "stopped") == journal(tmp_path / "whole")


def test_a_run_stopped_before_its_first_save_starts_with_the_same_weights(
    first: Path, more: Corpus, tmp_path: Path
) -> None:
    train_from(first, tmp_path / "whole", more)
    with pytest.raises(Crash), at_step(2, crash):
        train_from(first, tmp_path / "stopped", more)
    regard.train(run=tmp_path / "stopped", quiet=True)
    assert tensors(tmp_path / "stopped", 6) == tensors(tmp_path / "whole", 6)


def test_another_start_is_refused(first: Path, more: Corpus, tmp_path: Path) -> None:
    run = train_from(first, tmp_path / "run", more).path
    with pytest.raises(UsageError, match="was started with --from"):
        train_from(f"{first}:encoder", run, more)
    with pytest.raises(UsageError, match="was started with --from"):
        train_small(run, more)
    plain = train_small(tmp_path / "plain", more).path
    with pytest.raises(UsageError, match="was started without --from"):
        train_from(first, plain, more)


def test_corrupt_first_weights_are_refused(first: Path, more: Corpus, tmp_path: Path) -> None:
    with pytest.raises(Crash), at_step(2, crash):
        train_from(first, tmp_path / "run", more)
    path = tmp_path / "run" / "first.safetensors"
    path.write_bytes(path.read_bytes()[:-4] + b"\0\0\0\1")
    with pytest.raises(RegardError, match="corrupt"):
        regard.train(run=tmp_path / "run", quiet=True)


def test_the_command_says_where_it_starts(
    first: Path, more: Corpus, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    files = [f"--{name.replace('_', '-')}={path}" for name, path in more.items()]
    assert main(["train", "--from", str(first), "--run", str(run), "--steps=2", *files]) == 0
    assert f"Starting from {first}, step 12; learning rate 0.0003" in capfd.readouterr().err
    assert main(["info", str(run), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["started_from"] == f"{first}, step 12"
    given = ["--from", str(first), "--tokenizer", str(first)]
    assert main(["train", *given, "--run", str(tmp_path / "b"), "--steps=2", *files]) == 2


def transfer(run: Path) -> dict[str, dict[str, dict[str, float]]]:
    return json.loads((run / "transfer.json").read_text())


def test_scores_before_and_after_on_the_old_and_the_new_data(
    first: Path, more: Corpus, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Those before are what the other run has on both, those after what the new one has."""
    run = tmp_path / "run"
    files = [f"--{name.replace('_', '-')}={path}" for name, path in more.items()]
    settings = ["--set=training.optimizer.rate=0.01", "--set=training.metric=chrf"]
    command = ["train", "--from", str(first), "--run", str(run), "--steps=20", *settings, *files]
    assert main(command) == 0
    told = capfd.readouterr().err
    found = transfer(run)
    new, old = Run.open(run), Run.open(first)
    losses = {
        ("before", "old"): validation_loss(old, old),
        ("before", "new"): validation_loss(old, new),
        ("after", "old"): validation_loss(new, old),
        ("after", "new"): validation_loss(new, new),
    }
    for (when, part), loss in losses.items():
        assert found[when][part]["loss"] == pytest.approx(loss, abs=1e-4), (when, part)
        assert f"{found[when][part]['chrf']:.2f}" in told
    assert losses["after", "new"] < losses["before", "new"]
    assert "chrf        old data    new data" in told
    assert main(["info", str(run)]) == 0
    shown = capfd.readouterr().out
    assert f"chrf {found['before']['old']['chrf']:.2f} before" in shown
    assert main(command) == 0  # nothing is left to train or to score
    assert "old data" not in capfd.readouterr().err
    assert transfer(run) == found


def validation_loss(run: Run, data: Run) -> float:
    pairs = [pair.lines for pair in data.validation_pairs()]
    scored = list(regard.load(run.path).score(pairs))
    return -sum(total for total, _ in scored) / sum(count for _, count in scored)


def test_scores_are_the_same_after_a_crash_and_without_the_old_run(
    first: Path, more: Corpus, tmp_path: Path
) -> None:
    old = shutil.copytree(first, tmp_path / "old")
    train_from(old, tmp_path / "whole", more, "training.save_every=2")
    with pytest.raises(Crash), at_step(5, crash):
        train_from(old, tmp_path / "stopped", more, "training.save_every=2")
    shutil.rmtree(old)
    regard.train(run=tmp_path / "stopped", quiet=True)
    assert transfer(tmp_path / "stopped") == transfer(tmp_path / "whole")


def test_training_longer_scores_again(first: Path, more: Corpus, tmp_path: Path) -> None:
    run = train_from(first, tmp_path / "run", more, "training.optimizer.rate=0.01").path
    before = transfer(run)
    regard.train(run=run, more=True, steps=20, quiet=True)
    after = transfer(run)
    assert after["before"] == before["before"]
    assert after["after"]["step"] > before["after"]["step"]


def test_a_part_is_not_scored_and_a_run_without_data_has_no_old_scores(
    first: Path, more: Corpus, tmp_path: Path
) -> None:
    settings = (*SMALL[1:], "model.decoder_layers=2")
    part = train_from(f"{first}:encoder", tmp_path / "part", more, *settings, recipe="tiny")
    assert not (part.path / "transfer.json").exists()
    made = regard.average([first], last=1, run=tmp_path / "made").path
    found = transfer(train_from(made, tmp_path / "run", more).path)
    assert found["before"]["old"] is None
    assert found["before"]["new"]["loss"] > 0


def test_several_processes_score_the_same(first: Path, more: Corpus, tmp_path: Path) -> None:
    one = train_from(first, tmp_path / "one", more, "training.processes=1").path
    two = train_from(first, tmp_path / "two", more, "training.processes=2").path
    for part in ("old", "new"):
        a, b = (transfer(run)["before"][part]["loss"] for run in (one, two))
        assert a == pytest.approx(b, abs=1e-4)
