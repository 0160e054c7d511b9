"""Damage to any file of a run is refused in one sentence or mended; nothing is silently other."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Optional

import pytest
from toy import Crash, at_step, crash, parallel, tensors, train_small, write_corpus

import regard
from regard.cli import main
from regard.data import writer
from regard.errors import RegardError, UsageError
from regard.files import read_sealed, sealed, write_json
from regard.runs import folder as run_folder
from regard.runs.folder import Run

FLIPS = 60
FORMAT_ENTRIES = ("format", "regard")
Corpus = dict[str, Path]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("damage") / "corpus")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> Path:
    return train_small(tmp_path_factory.mktemp("damage") / "run", corpus, save_every=4).path


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> Path:
    path = tmp_path_factory.mktemp("damage") / "run"
    with pytest.raises(Crash), at_step(6, crash):
        train_small(path, corpus, save_every=4)
    return path


def flip(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


def files_of(run: Path, pattern: str) -> list[str]:
    paths = (path for path in sorted(run.rglob(pattern)) if path.is_file())
    return [str(path.relative_to(run)) for path in paths if path.stat().st_size]


def resume(run: Path, corpus: Optional[Corpus]) -> str:
    """Train to the end; the sentence of a refusal, empty if there was none."""
    try:
        if corpus is not None:
            train_small(run, corpus, save_every=4)
        else:
            regard.train(run=run, quiet=True)
    except RegardError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("given", [False, True])
def test_flipped_bits_never_change_what_is_learned(
    given: bool, unfinished: Path, finished: Path, corpus: Corpus, tmp_path: Path
) -> None:
    draw, refused = random.Random(23), 0
    for number in range(FLIPS // 2):
        run = Path(shutil.copytree(unfinished, tmp_path / str(number)))
        damaged = draw.choice(files_of(run / "data", "*") if number % 2 else files_of(run, "*"))
        flip(run / "data" / damaged if number % 2 else run / damaged, draw)
        refusal = resume(run, corpus if given else None)
        if refusal:
            assert "\n" not in refusal
            assert not (given and number % 2), f"{damaged} was not encoded again: {refusal}"
            refused += 1
        else:
            assert tensors(run, 8) == tensors(finished, 8), damaged
        shutil.rmtree(run)
    assert given or refused >= FLIPS // 4


def test_flipped_bits_never_change_a_score(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(finished)]) == 0
    right, draw = capsys.readouterr().out, random.Random(5)
    for name in [*files_of(finished, "data/valid/*"), "config.json", "tokenizer.json"]:
        run = Path(shutil.copytree(finished, tmp_path / "run"))
        flip(run / name, draw)
        code = main(["evaluate", str(run)])
        told = capsys.readouterr()
        if code == 0:
            assert told.out == right, name
        else:
            assert "Traceback" not in told.err
            assert told.err.strip().splitlines()[-1].startswith("regard: "), name
        assert code or not name.startswith("data/"), f"{name} was used"
        shutil.rmtree(run)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("config.json", '"heads": 2', '"heads": 4'),
        ("config.json", '"digest"', '"other"'),
        ("plan.json", '"steps": 8', '"steps": 9'),
        ("processes.json", '"processes": 1', '"processes": 2'),
    ],
)
def test_settings_plan_and_processes_are_checked_when_a_run_is_used(
    name: str, before: str, after: str, unfinished: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(unfinished, tmp_path / "run"))
    text = (run / name).read_text()
    assert before in text
    (run / name).write_text(text.replace(before, after))
    with pytest.raises(UsageError, match=f"{name} is corrupt or was changed: restore it"):
        regard.train(run=run, quiet=True)


def test_a_run_of_the_format_without_hashes_is_still_used_and_resumed(
    corpus: Corpus, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "FORMAT", run_folder.UNSEALED)
        with pytest.raises(Crash), at_step(6, crash):
            train_small(run, corpus, save_every=4)
    for path in run.glob("*.json"):
        if not path.name.endswith("tokenizer.json"):
            write_json(
                path, {k: v for k, v in json.loads(path.read_text()).items() if k != "digest"}
            )
    for path in run.glob("data/*/meta.json"):
        meta = read_sealed(path)
        del meta["hashes"]
        write_json(path, {**meta, "format": writer.UNHASHED})
    assert Run.open(run).store("train").has_text is False
    assert regard.train(run=run, quiet=True).path == run
    assert tensors(run, 8) == tensors(finished, 8)


def test_keys_that_are_numbers_are_sealed_as_they_are_read(tmp_path: Path) -> None:
    write_json(tmp_path / "file", sealed({"counts": {10: 1, 9: 2}}))
    assert read_sealed(tmp_path / "file") == {"counts": {"10": 1, "9": 2}}
    with pytest.raises(ValueError, match="entry 'digest'"):
        sealed({"digest": 1})


def test_a_damaged_shortlist_is_learned_again(finished: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    lines = ["translate", str(run), "--shortlist", "10", "--input", str(tmp_path / "lines")]
    (tmp_path / "lines").write_text("ant bee\n")
    assert main([*lines, "--output", str(tmp_path / "one")]) == 0
    learned = (run / "likely.npy").read_bytes()
    flip(run / "likely.npy", random.Random(1))
    assert main([*lines, "--output", str(tmp_path / "two")]) == 0
    assert (run / "likely.npy").read_bytes() == learned
    assert (tmp_path / "one").read_text() == (tmp_path / "two").read_text()


def test_files_replaced_while_they_are_read_are_not_trained_on(
    corpus: Corpus, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regard.data.tokenizers import Tokenizers

    copies = {name: Path(shutil.copy(path, tmp_path / name)) for name, path in corpus.items()}
    really = Tokenizers.train

    def swapped(*given: object, **more: object) -> Tokenizers:
        for path in copies.values():
            path.write_text("other words\n" * 120)
        return really(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Tokenizers, "train", swapped)
    run = train_small(tmp_path / "run", copies, save_every=4)
    assert run.facts("data")["fingerprint"] == Run.open(finished).facts("data")["fingerprint"]
    assert tensors(run.path, 8) == tensors(finished, 8)
    assert parallel(copies)


NESTED = {
    "lists": "[" * 100_000,
    "objects": '{"a":' * 100_000,
    "a record": f'{{"event": "validation", "step": 8, "loss": {"[" * 100_000}',
    "closed": "[" * 100_000 + "]" * 100_000,
}


@pytest.mark.parametrize("line", NESTED.values(), ids=NESTED)
def test_a_journal_line_of_nested_brackets_is_passed_over(
    line: str,
    unfinished: Path,
    finished: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = Path(shutil.copytree(unfinished, tmp_path / "run"))
    whole = (run / "journal.jsonl").read_bytes()
    (run / "journal.jsonl").write_bytes(line.encode() + b"\n" + whole)
    assert main(["info", str(run)]) == 0
    assert main(["watch", str(run), f"--output={tmp_path / 'watch.html'}"]) == 0
    assert main(["train", f"--run={run}", "--quiet"]) == 0
    assert "Traceback" not in capsys.readouterr().err
    assert tensors(run, 8) == tensors(finished, 8)
    assert line not in (run / "journal.jsonl").read_text()


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ({}, "was written by regard 0.1.0, whose runs regard .* cannot read: use regard 0.1.0"),
        ({"format": 1, "regard": "0.1.5"}, "was written by regard 0.1.5, whose runs"),
        ({"format": 99, "regard": "9.0"}, "was written by regard 9.0, whose runs"),
        ({"format": [2], "regard": "9.0"}, "was written by regard 9.0, whose runs"),
    ],
)
def test_a_run_of_another_format_is_refused_in_one_sentence(
    written: dict[str, object], sentence: str, finished: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    config = {k: v for k, v in read_sealed(run / "config.json").items() if k not in FORMAT_ENTRIES}
    write_json(run / "config.json", {**written, **config})
    for use in (regard.load, lambda path: regard.train(run=path), regard.evaluate):
        with pytest.raises(UsageError, match=sentence) as caught:
            use(run)
        assert "\n" not in str(caught.value)
