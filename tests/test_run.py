"""The life of a run folder: begun, broken off, gone on with, refused; always in one sentence."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
import toy
from clocks import still_clock
from toy import (
    journal,
    parallel,
    saved_steps,
    strays,
    tensors,
    train_small,
    write_corpus,
    write_lines,
)

import regard
from regard.data.parallel import Parallel
from regard.data.store import Store
from regard.errors import RegardError, UsageError
from regard.files import writing
from regard.runs.facts import describe
from regard.runs.folder import Run
from regard.runs.load import load_model, load_predictor
from regard.runs.train import Trainer
from regard.training.timing import seconds_per_step

Corpus = dict[str, Path]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> Path:
    return train_small(tmp_path_factory.mktemp("runs") / "finished", corpus).path


@pytest.fixture
def run(tmp_path: Path, finished: Path) -> Path:
    """A copy of a finished run that a test may damage."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise AssertionError("a step was taken")

    monkeypatch.setattr(Trainer, "_update", refuse)


def test_the_same_call_on_a_finished_run_does_nothing(
    run: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = journal(run)
    no_training(monkeypatch)
    train_small(run, corpus)
    assert journal(run) == before
    assert saved_steps(run) == [8]


def test_a_changed_config_is_refused_with_each_difference(run: Path, corpus: Corpus) -> None:
    with pytest.raises(UsageError) as refused:
        train_small(run, corpus, "model.layers=2", "training.optimizer.rate=0.5", steps=9)
    assert "model.layers: was 1, now 2" in str(refused.value)
    assert "training.optimizer.rate: was 0.003, now 0.5" in str(refused.value)
    assert "budget.steps: was 8, now 9" in str(refused.value)


def test_another_kind_of_model_is_named_without_its_settings(run: Path, corpus: Corpus) -> None:
    with pytest.raises(UsageError, match="kind transformer, not recurrent") as refused:
        regard.train("rnn_plain", run=run, steps=8, quiet=True, **parallel(corpus))
    assert "model." not in str(refused.value)


def test_a_larger_budget_for_a_finished_run_is_answered_with_more(
    run: Path, corpus: Corpus
) -> None:
    with pytest.raises(UsageError, match=r"was 8, now 9\).*--more"):
        train_small(run, corpus, steps=9)


def test_another_kind_of_budget_is_refused_with_the_difference(run: Path, corpus: Corpus) -> None:
    with pytest.raises(UsageError, match=r"budget\.epochs: was null, now 2"):
        train_small(run, corpus, steps=None, epochs=2)


@pytest.mark.parametrize("part", ["source", "target", "valid_source", "valid_target"])
def test_changed_data_is_refused(run: Path, corpus: Corpus, tmp_path: Path, part: str) -> None:
    lines = corpus[part].read_text().splitlines()
    other = write_lines(tmp_path / "other", ["ant ANT", *lines[1:]])
    with pytest.raises(
        UsageError, match="valid files differ" if "valid" in part else "train files"
    ):
        train_small(run, {**corpus, part: other})


def test_validation_files_given_later_are_refused(
    tmp_path: Path, corpus: Corpus, finished: Path
) -> None:
    without = {"source": corpus["source"], "target": corpus["target"]}
    with pytest.raises(UsageError, match="valid files differ"):
        train_small(finished, without)


def test_the_same_data_elsewhere_is_the_same_data(
    run: Path, corpus: Corpus, tmp_path: Path
) -> None:
    moved = {name: Path(shutil.copy(path, tmp_path / name)) for name, path in corpus.items()}
    train_small(run, moved)


def test_a_given_tokenizer_is_used_and_another_one_refused_later(
    tmp_path: Path, corpus: Corpus, finished: Path
) -> None:
    run = train_small(tmp_path / "run", corpus, steps=1, tokenizer=finished)
    assert (run.path / "tokenizer.json").read_bytes() == (finished / "tokenizer.json").read_bytes()
    train_small(tmp_path / "run", corpus, steps=1, tokenizer=finished)
    other = train_small(tmp_path / "other", corpus, "tokenizer.vocabulary=10", steps=1)
    with pytest.raises(UsageError, match="started with another tokenizer"):
        train_small(tmp_path / "run", corpus, steps=1, tokenizer=other.path)


def test_the_run_alone_is_enough_to_go_on(tmp_path: Path, corpus: Corpus, finished: Path) -> None:
    train_small(tmp_path / "begun", corpus)
    shutil.rmtree(tmp_path / "begun" / "checkpoints")
    regard.train(run=tmp_path / "begun", quiet=True)
    assert tensors(tmp_path / "begun", 8) == tensors(finished, 8)


def test_two_at_a_time_are_refused_and_the_lock_ends_with_its_holder(
    run: Path, corpus: Corpus
) -> None:
    with Run.locked(run), pytest.raises(UsageError, match="Another process is training"):
        train_small(run, corpus)
    train_small(run, corpus)


def test_a_folder_with_other_things_in_it_is_refused_and_left_alone(
    tmp_path: Path, corpus: Corpus
) -> None:
    (tmp_path / "taken").mkdir()
    diary = write_lines(tmp_path / "taken" / "diary.txt", ["dear diary"])
    with pytest.raises(UsageError, match="holds other files"):
        train_small(tmp_path / "taken", corpus)
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["diary.txt"]
    with pytest.raises(UsageError, match="is a file"):
        train_small(diary, corpus)
    with pytest.raises(UsageError, match="is not a run"):
        regard.load(tmp_path / "taken")


def test_wrong_use_leaves_no_run_behind(tmp_path: Path, corpus: Corpus) -> None:
    """So that the command can be put right and given again."""
    empty = write_lines(tmp_path / "empty", [])
    with pytest.raises(UsageError, match="is empty"):
        train_small(tmp_path / "run", {**corpus, "source": empty})
    assert not (tmp_path / "run").exists()
    with pytest.raises(UsageError, match="set it to at least"):
        train_small(tmp_path / "run", corpus, "tokenizer.kind=bpe", "tokenizer.vocabulary=9")
    assert not (tmp_path / "run").exists()
    longer = write_lines(tmp_path / "longer", [f"THE {line}" for line in toy.some_lines(120, 10)])
    with pytest.raises(UsageError, match=r"model\.tying=target"):
        train_small(tmp_path / "run", {**corpus, "target": longer}, "tokenizer.joint=false")
    assert not (tmp_path / "run").exists()
    train_small(tmp_path / "run", corpus, steps=1)


def crash_in(monkeypatch: pytest.MonkeyPatch, target: Any, name: str, calls: int) -> None:
    """The n-th call does its work and then the process is gone, as far as the files can tell."""
    original = getattr(target, name)
    done = 0

    def call(*arguments: Any, **options: Any) -> Any:
        nonlocal done
        result = original(*arguments, **options)
        done += 1
        if done == calls:
            raise ZeroDivisionError
        return result

    monkeypatch.setattr(target, name, call)


PLACES = [
    ("regard.runs.folder.write_json", 1),  # config.json
    ("regard.runs.folder.write_json", 2),  # the fingerprint of the data
    ("regard.data.tokenizers.save", 1),  # one of two tokenizers
    ("regard.data.tokenizers.save", 2),
    ("regard.data.store.Store.write", 1),  # the training data
    ("regard.data.store.Store.write", 2),
    ("regard.runs.folder.write_json", 3),  # data.json complete
    ("regard.runs.folder.write_json", 4),  # plan.json
]


@pytest.mark.parametrize(("place", "calls"), PLACES)
def test_a_beginning_that_was_cut_off_is_begun_again(
    place: str, calls: int, tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ("tokenizer.joint=false", "model.tying=target")
    owner, name = place.rsplit(".", 1)
    with monkeypatch.context() as patch:
        crash_in(patch, resolve_name(owner), name, calls)
        with pytest.raises(ZeroDivisionError):
            train_small(tmp_path / "run", corpus, *settings, steps=2)
    for name in (".plan.json.99999999.tmp", "data/train/.meta.json.99999999.tmp"):
        (tmp_path / "run" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "run" / name).write_bytes(b"{")
    run = train_small(tmp_path / "run", corpus, *settings, steps=2)
    assert saved_steps(run.path) == [2]
    assert strays(run.path) == []
    assert run.facts("data")["pairs"] == {"train": 120, "valid": 20}


def test_a_kill_while_the_config_is_written_does_not_make_the_folder_somebody_elses(
    tmp_path: Path, corpus: Corpus
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".config.json.99999999.tmp").write_bytes(b"{")
    train_small(tmp_path / "run", corpus, steps=1)
    assert strays(tmp_path / "run") == []


def test_what_another_process_is_writing_is_left_alone(run: Path) -> None:
    names = [f".heads.json.{number}.tmp" for number in (os.getppid(), os.getpid(), 99999999)]
    for name in names:
        (run / name).write_bytes(b"{")
    with Run.locked(run):
        assert strays(run) == names[:1]


def test_a_run_that_was_being_made_inside_another_is_removed(tmp_path: Path) -> None:
    """Such as an average, when the process that makes it is killed."""
    unfinished = tmp_path / ".average.99999999.tmp"
    unfinished.mkdir()
    (unfinished / ".config.json.99999999.tmp").write_bytes(b"{")
    with Run.locked(tmp_path):
        assert strays(tmp_path) == []


def test_a_file_is_written_under_a_name_of_its_process(tmp_path: Path) -> None:
    with writing(tmp_path / "file"):
        assert [each.name for each in tmp_path.iterdir()] == [f".file.{os.getpid()}.tmp"]


def test_a_folder_that_cannot_be_written_has_a_shortlist_all_the_same(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("regard.runs.shortlist.writing", refuse)
    assert load_predictor(Run.open(run), shortlist=3)(["ant"])
    assert not (run / "likely.npy").exists()


def test_data_encoded_before_a_kill_is_not_taken_for_other_data(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        crash_in(patch, Store, "write", 1)
        with pytest.raises(ZeroDivisionError):
            train_small(tmp_path / "run", corpus)
    other = write_corpus(tmp_path / "other", seed=2)
    with pytest.raises(UsageError, match="other data"):
        train_small(tmp_path / "run", other)


def test_measuring_the_speed_changes_nothing_that_is_learned(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch, finished: Path
) -> None:
    def for_eight_steps(*arguments: Any) -> float:
        assert seconds_per_step(*arguments[:-1], 0.05) > 0
        return 60 * 0.9 / 8

    monkeypatch.setattr("regard.runs.plan.seconds_per_step", for_eight_steps)
    monkeypatch.setattr("regard.training.trainer.Timekeeper", still_clock)
    train_small(tmp_path / "run", corpus, steps=None, minutes=1)
    assert tensors(tmp_path / "run", 8) == tensors(finished, 8)


def test_epochs_are_passes_over_the_data_and_may_be_a_part_of_one(
    tmp_path: Path, corpus: Corpus
) -> None:
    whole = train_small(tmp_path / "whole", corpus, steps=None, epochs=2)
    half = train_small(tmp_path / "half", corpus, steps=None, epochs=0.5)
    assert whole.steps is not None
    assert half.steps == pytest.approx(whole.steps / 4, abs=0.5)
    offset = json.loads(
        (whole.path / "checkpoints" / f"step-{whole.steps}" / "progress.json").read_bytes()
    )["offset"]
    assert offset == {"epoch": 2, "window": 0, "batch": 0}
    double = train_small(tmp_path / "double", corpus, "training.accumulate=2", steps=None, epochs=2)
    assert double.steps == pytest.approx(whole.steps / 2, abs=0.5)


def test_without_validation_files_a_part_is_held_out_said_so_and_not_trained_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"w{number} w{number % 7}" for number in range(100)]
    lines[::10] = lines[1::10]  # some stand there twice: neither copy may be trained on
    source = write_lines(tmp_path / "source", lines)
    target = write_lines(tmp_path / "target", map(toy.turned, lines))
    regard.train(
        "tiny",
        Parallel(source, target),
        run=tmp_path / "run",
        steps=1,
        settings=[*toy.SMALL, "tokenizer.vocabulary=500"],
    )
    run = Run.open(tmp_path / "run")
    sources, targets = zip(*(pair.texts for pair in run.validation_pairs()), strict=True)
    assert len(set(sources)) == len(sources) == 4
    told = capsys.readouterr().err
    assert "10 of 100 pairs repeat an earlier one." in told
    assert "Held out 4 of 90 different pairs for validation" in told
    trained = [
        run.tokenizers().source.decode(ids.tolist())
        for ids, _ in (run.store("train").pair(i) for i in range(len(run.store("train"))))
    ]
    kept = [line for line in lines if line not in sources]
    assert len(trained) == len(kept) <= 96
    words = {word for line in trained for word in line.split()}
    assert words <= {word for line in kept for word in line.split()}
    assert list(targets) == [toy.turned(line) for line in sources]


@pytest.mark.parametrize(
    ("different", "copies", "held", "trained", "told"),
    [
        (300, 20, 15, 5700, "5,700 of 6,000 pairs repeat"),
        (2, 150, 1, 150, "298 of 300 pairs repeat"),
    ],
)
def test_repeated_pairs_are_counted_and_held_out_together(
    different: int,
    copies: int,
    held: int,
    trained: int,
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = [f"w{number}" for number in range(different)] * copies
    files = [write_lines(tmp_path / name, lines) for name in ("source", "target")]
    settings = [*toy.SMALL, "tokenizer.vocabulary=500"]
    data = Parallel(*files)
    run = regard.train("tiny", data, run=tmp_path / "run", steps=1, settings=settings)
    assert (len(run.store("valid")), len(run.store("train"))) == (held, trained)
    said = capsys.readouterr().err
    assert told in said
    assert f"Held out {held} of {different} different pairs" in said
    assert f"no copy of them ({held * (copies - 1):,} in all)" in said


def test_another_seed_holds_out_another_part(tmp_path: Path, corpus: Corpus) -> None:
    files = {"source": corpus["source"], "target": corpus["target"]}
    first = train_small(tmp_path / "first", files, steps=1)
    other = train_small(tmp_path / "other", files, steps=1, seed=9)
    assert first.validation_pairs() != other.validation_pairs()


def test_too_little_data_is_refused(tmp_path: Path) -> None:
    one = write_lines(tmp_path / "one", ["ant"])
    with pytest.raises(UsageError, match="One pair is not enough"):
        train_small(tmp_path / "run", {"source": one, "target": one})
    same = write_lines(tmp_path / "same", ["ant"] * 5)
    with pytest.raises(UsageError, match="All pairs are the same"):
        train_small(tmp_path / "run", {"source": same, "target": same})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not valid JSON"),
        ("[]", "not a JSON object"),
        ("[" * 100_000, "not valid JSON"),
        ('{"format": 2, "model": {"kind": "mystery"}}', "'model.kind' cannot be 'mystery'"),
        ('{"format": 2, "model": {"kind": "transformer", "layer": 2}}', "Did you mean 'layers'"),
        ('{"format": 2, "training": {"seed": "x"}}', "'training.seed' cannot be 'x'"),
    ],
)
def test_a_config_edited_to_nonsense_is_refused(run: Path, text: str, sentence: str) -> None:
    (run / "config.json").write_text(text)
    with pytest.raises(UsageError, match=sentence.replace("[", r"\[")):
        regard.load(run)


def test_a_run_of_another_version_is_refused_by_name(run: Path) -> None:
    config = json.loads((run / "config.json").read_text())
    assert config.pop("format") == 3
    del config["digest"]
    assert config["regard"] == regard.__version__
    del config["regard"]  # as version 0.1.0 wrote it
    (run / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match=r"was written by regard 0\.1\.0, .* or train it again"):
        regard.load(run)


def test_a_config_edited_to_something_else_is_not_resumed(run: Path) -> None:
    text = (run / "config.json").read_text()
    (run / "config.json").write_text(text.replace('"rate": 0.003', '"rate": 0.5'))
    with pytest.raises(UsageError, match=r"config\.json is corrupt or was changed"):
        regard.train(run=run, quiet=True)


@pytest.mark.parametrize("text", ["{}", '{"steps": "x"}', '{"steps": -1}', "x"])
def test_a_damaged_plan_is_refused(run: Path, text: str) -> None:
    (run / "plan.json").write_text(text)
    with pytest.raises(UsageError, match=r"plan\.json"):
        regard.train(run=run, quiet=True)


def damages(whole: bytes, draw: random.Random) -> Iterator[bytes]:
    yield b""
    yield whole[: draw.randrange(len(whole))]
    for _ in range(3):
        flipped = bytearray(whole)
        flipped[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        yield bytes(flipped)


def refusal(use: Callable[..., Any], *arguments: Any) -> str:
    """The sentence with which something is refused, if it is; any other error is passed on."""
    try:
        use(*arguments)
    except RegardError as problem:
        return str(problem)
    return ""


def translate(run: Path) -> str:
    return regard.load(run)("ant bee")


def test_damage_to_any_file_never_ends_in_a_traceback(
    tmp_path: Path, finished: Path, corpus: Corpus
) -> None:
    """It is refused in one sentence, or it is a file that using the run does not need.

    tests/runs/test_damage.py does the same to the encoded data.
    """
    draw = random.Random(2)
    for path in sorted(each for each in finished.rglob("*") if each.is_file()):
        if path.is_relative_to(finished / "data") or not (whole := path.read_bytes()):
            continue
        for damaged in damages(whole, draw):
            run = Path(shutil.copytree(finished, tmp_path / "damaged"))
            (run / path.relative_to(finished)).write_bytes(damaged)
            assert "\n" not in refusal(train_small, run, corpus)
            assert "\n" not in refusal(translate, run)
            shutil.rmtree(run)


def test_facts_tell_what_is_in_a_run(finished: Path) -> None:
    facts = describe(Run.open(finished))
    assert facts["model"] == "transformer"
    assert facts["pairs"] == {"train": 120, "valid": 20}
    assert facts["steps"] == facts["trained_to"] == facts["used_checkpoint"] == 8
    assert facts["vocabulary"] == {"source": 20, "target": 12}
    assert facts["validation"]["step"] == 8
    model, _ = load_model(Run.open(finished))
    assert facts["parameters"] == sum(each.numel() for each in model.parameters())


def test_a_run_without_a_checkpoint_says_so(run: Path) -> None:
    shutil.rmtree(run / "checkpoints")
    assert describe(Run.open(run))["used_checkpoint"] is None
    with pytest.raises(RegardError, match="no checkpoint yet"):
        regard.load(run)
