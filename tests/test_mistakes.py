"""Mistakes that cost something: files overwritten, streams closed, a run that was tampered with."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from test_messages import assert_for_people
from torch.nn.modules.module import register_module_forward_pre_hook
from toy import (
    SMALL,
    at_step,
    saved_steps,
    small_command,
    some_lines,
    train_small,
    write_corpus,
    write_lines,
)

import regard
from regard.cli import main
from regard.data.parallel import Parallel
from regard.data.tokenizer import Words
from regard.data.tokenizers import Tokenizers
from regard.errors import UsageError
from regard.files import write_text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mistakes")
    train_small(folder / "run", write_corpus(folder), steps=4)
    return folder


def said(capsys: pytest.CaptureFixture[str], *arguments: Any, code: int = 2) -> str:
    """The one sentence that a command says on standard error."""
    capsys.readouterr()
    assert main([str(each) for each in arguments]) == code
    sentence = capsys.readouterr().err.strip()
    assert_for_people(sentence)
    return sentence


# files


@pytest.mark.parametrize(
    "command",
    [
        "translate {run} --input {source} --output {source}",
        "translate {run} --input {source} --output {link}",
        "translate {run} --input {source} --prefix {target} --alignments {target}",
        "evaluate {run} --source {source} --target {target} --output {source}",
        "score {run} --source {source} --target {target} --output {target}",
        "align {run} --source {source} --target {target} --output {source}",
        "distill {run} --source {source} --output {source}",
        "look {run} --input {source} --output {source}",
    ],
)
def test_no_command_overwrites_what_it_reads(
    command: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target, link = (tmp_path / name for name in ("one.en", "one.de", "link"))
    source.write_text("ant bee\n")
    target.write_text("BEE ANT\n")
    link.symlink_to(source)
    given = {"run": folder / "run", "source": source, "target": target, "link": link}
    assert "is also an input" in said(capsys, *command.format_map(given).split(" "))
    assert (source.read_text(), target.read_text()) == ("ant bee\n", "BEE ANT\n")
    assert link.is_symlink()


def test_distill_in_python_does_not_overwrite_its_source_either(
    folder: Path, tmp_path: Path
) -> None:
    source = tmp_path / "one.en"
    source.write_text("ant bee\n")
    with pytest.raises(UsageError, match="also an input"):
        regard.distill(folder / "run", Parallel(source), output=source)


@pytest.mark.parametrize(
    "command",
    [
        "evaluate {run} --columns 1,2",
        "score {run} --columns 1,2",
        "compare {run} {run} --columns 1,2",
        "judge {run} --judge channel={run} --columns 1,2",
        "train --run {run} --columns 1,2",
        "train --run {run} --valid-columns 1,2",
        "doctor --source {source} --target {source} --test-columns 1,2",
        "ladder tiny --output {new} --pairs {source} --steps 1 --test-columns 1,2",
    ],
)
def test_columns_without_a_file_that_has_them_are_refused(
    command: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "one.en"
    source.write_text("ant bee\n")
    given = {"run": folder / "run", "source": source, "new": tmp_path / "new"}
    option = command.split(" ")[-2]
    sentence = f"{option} has no effect without {option.replace('columns', 'pairs')}; remove it."
    assert sentence in said(capsys, *command.format_map(given).split(" "))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--valid-source {gone} --valid-target {gone}", "Validation files have no effect without"),
        ("--valid-trees {gone}", "Validation files have no effect without"),
        ("--tokenizer {gone}", "--tokenizer has no effect without training files; remove it."),
        ("--more --steps 5 --from {gone}", "--from has no effect with --more; remove it."),
    ],
)
def test_what_resuming_does_not_look_at_is_refused(
    options: str, sentence: str, copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = options.format(gone=tmp_path / "gone").split(" ")
    assert sentence in said(capsys, "train", "--run", copied, *given)


def test_links_in_a_circle_are_replaced_by_the_output(folder: Path, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "one.en", ["ant bee"])
    (tmp_path / "circle").symlink_to("circle")
    for verb, given in (("translate", "--input"), ("distill", "--source")):
        output = tmp_path / verb
        output.symlink_to(tmp_path / "circle")
        command = [verb, folder / "run", given, source, "--output", output, "--workers", 1]
        assert main([str(each) for each in command]) == 0
        assert (tmp_path / verb).read_text().count("\n") == 1


def test_a_file_is_no_folder_to_write_to(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_lines(tmp_path / "one.en", ["ant bee"])
    for verb, given in (("translate", "--input"), ("distill", "--source")):
        command = [verb, folder / "run", given, file, "--output", file / "two"]
        assert f"{file} is a file: give the name of a file in a folder" in said(capsys, *command)


def test_two_outputs_never_share_a_file(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "one.en"
    source.write_text("ant bee\n")
    both = tmp_path / "both"
    command = ["translate", folder / "run", "--input", source, "--output", both]
    other = f"{tmp_path}{os.sep}.{os.sep}both"
    assert "two outputs" in said(capsys, *command, "--alignments", other)
    assert not both.exists()
    nowhere = ["--output", os.devnull, "--alignments", os.devnull]
    assert main([str(each) for each in [*command[:4], *nowhere]]) == 0


@pytest.mark.parametrize("name", ["grammar", "listops", "copy"])
def test_a_corpus_does_not_replace_another(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["corpus", name, "--output", tmp_path / "corpus", "--pairs", 20]
    assert main([str(each) for each in command]) == 0
    before = {path: path.read_bytes() for path in (tmp_path / "corpus").iterdir()}
    assert "choose another folder" in said(capsys, *command, "--seed", 2)
    assert {path: path.read_bytes() for path in (tmp_path / "corpus").iterdir()} == before
    next(iter(before)).unlink()  # as when it was stopped midway
    assert main([str(each) for each in command]) == 0
    assert {path: path.read_bytes() for path in (tmp_path / "corpus").iterdir()} == before


# closed streams


@pytest.mark.parametrize(
    ("command", "closed", "sentence"),
    [
        ("translate {run}", "<&-", "Standard input is closed: give the file to read"),
        ("translate {run} --input {folder}/test.source", ">&-", "Standard output is closed"),
        ("info {run}", ">&-", "Standard output is closed"),
        ("recipes", ">&-", "Standard output is closed"),
    ],
)
def test_a_closed_stream_is_an_error(
    command: str, closed: str, sentence: str, folder: Path
) -> None:
    """Also those of score and evaluate: it is checked before the command is looked at."""
    given = command.format_map({"run": folder / "run", "folder": folder})
    shell = f"{sys.executable} -m regard {given} {closed}"
    ended = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 2
    assert sentence in ended.stderr
    assert_for_people(ended.stderr.strip())


# a run that was tampered with


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    shutil.copytree(folder / "run", tmp_path / "run")
    return tmp_path / "run"


def swap_tokenizer(run: Path) -> None:
    """Another tokenizer of the same size, in a valid file."""
    own = Tokenizers.load(run)
    words = own.source.content()
    Tokenizers.one(Words([*words[1:], words[0]]), own.target.size).save(run)


def change_heads(run: Path) -> None:
    path = run / "config.json"
    path.write_text(path.read_text().replace('"heads": 2', '"heads": 4'))


@pytest.mark.parametrize(
    ("tamper", "name", "reason"),
    [
        (swap_tokenizer, "tokenizer.json", "was changed after step-4 was saved: restore it"),
        (change_heads, "config.json", "is corrupt or was changed: restore it from a copy"),
    ],
)
def test_a_run_is_not_used_with_another_tokenizer_or_config(
    tamper: Callable[[Path], None],
    name: str,
    reason: str,
    copied: Path,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = (copied / name).read_bytes()
    tamper(copied)
    assert (copied / name).read_bytes() != before
    sentence = f"{copied / name} {reason}"
    source, target = folder / "test.source", folder / "test.target"
    assert sentence in said(capsys, "translate", copied, "--input", source)
    assert sentence in said(capsys, "score", copied, "--source", source, "--target", target)
    assert sentence in said(capsys, "train", "--run", copied)
    (copied / name).write_bytes(before)
    assert main(["translate", str(copied), "--input", str(source)]) == 0


def test_a_checkpoint_that_does_not_record_its_tokenizer_is_still_used(
    copied: Path, folder: Path
) -> None:
    path = copied / "checkpoints" / "step-4" / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["tokenizers"], manifest["digest"]
    manifest["digest"] = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(manifest))
    assert regard.load(copied)("ant bee") == regard.load(folder / "run")("ant bee")
    regard.train(run=copied, quiet=True)


# options and settings


def test_looking_at_an_empty_target_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "look.html"
    command = ["look", folder / "run", "ant", "--output", page, "--target"]
    assert "There is no text in the target" in said(capsys, *command, "")
    assert not page.exists()


def test_a_page_does_not_get_the_name_of_a_picture(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.png"
    given = ["--source", folder / "train.source", "--target", folder / "train.target"]
    for command in (["look", folder / "run", "ant"], ["watch", folder / "run"], ["doctor", *given]):
        assert "would be an HTML page" in said(capsys, *command, "--output", page)
        assert not page.exists()


def no_memory(module: torch.nn.Module, arguments: Any) -> None:
    raise MemoryError


def test_a_run_that_could_not_begin_leaves_its_folder_free(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    corpus = write_corpus(tmp_path)
    handle = register_module_forward_pre_hook(no_memory)
    try:
        command = small_command(tmp_path / "run", corpus, "--set=training.processes=1")
        assert "Not enough memory" in said(capsys, *command, "--quiet", "--steps=2", code=1)
    finally:
        handle.remove()
    assert not (tmp_path / "run").exists()
    train_small(tmp_path / "run", corpus, steps=2)


def test_a_run_that_has_a_checkpoint_is_never_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write_corpus(tmp_path)

    def fail() -> None:
        raise MemoryError

    with at_step(3, fail), pytest.raises(MemoryError):
        train_small(tmp_path / "run", corpus, "training.log_every=100", save_every=2)
    assert saved_steps(tmp_path / "run") == [2]
    with at_step(1, fail), pytest.raises(MemoryError):
        train_small(tmp_path / "run", corpus, "training.log_every=100", save_every=2)
    assert saved_steps(tmp_path / "run") == [2]


# what went wrong, and what to do


@contextmanager
def read_only_folder() -> Iterator[Path]:
    """A folder that cannot be written to, without the rights of root, to whom all is permitted."""
    folder, own = Path(tempfile.mkdtemp()), os.geteuid()
    (folder / "inner").mkdir()
    folder.chmod(0o755)
    (folder / "inner").chmod(0o555)
    try:
        if own == 0:
            os.seteuid(65534)
        yield folder / "inner"
    finally:
        os.seteuid(own)
        shutil.rmtree(folder)


def test_a_language_model_aligns_nothing(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, run = tmp_path / "text", tmp_path / "run"
    write_lines(target, some_lines(60, seed=3))
    small = [part for setting in SMALL for part in ("--set", setting)]
    trained = ["train", "language", "--run", run, "--target", target, *small, "--steps=1"]
    assert main([*map(str, trained), "--quiet"]) == 0
    for files in (["--target", target], ["--source", target, "--target", target]):
        assert "A language model reads no source" in said(capsys, "align", run, *files)


def test_what_is_no_tokenizer_is_refused_with_what_may_be_given(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, text = write_corpus(tmp_path), write_lines(tmp_path / "one.en", ["ant"])
    cases = {text: "is not a tokenizer", tmp_path: "has no tokenizer", text / "x": "does not exist"}
    for path, reason in cases.items():
        command = small_command(tmp_path / "run", corpus, "--tokenizer", str(path))
        sentence = said(capsys, *command, "--quiet")
        assert f"{path} {reason}: give the folder of a run, a tokenizer.json" in sentence
        assert not (tmp_path / "run").exists()


def test_a_run_without_its_data_can_be_mended_as_it_says(
    folder: Path, tmp_path: Path, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(copied / "data")
    remedy = "with its files, to make it again"
    assert remedy in said(capsys, "evaluate", copied)
    assert remedy in said(capsys, "train", "--run", copied)
    train_small(copied, write_corpus(tmp_path), steps=4)
    assert main(["evaluate", str(copied), "--workers=1"]) == 0


def test_a_folder_that_cannot_be_made_is_refused_before_a_corpus_is_generated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_lines(tmp_path / "one.en", ["ant"])
    generated = list[int]()
    generate = "regard.corpora.grammar.generate"
    monkeypatch.setattr(generate, lambda pairs, *_: generated.append(pairs))
    refusal = f"regard: {file} is a file: choose a folder."
    assert said(capsys, "corpus", "grammar", "--output", file) == refusal
    assert said(capsys, "corpus", "grammar", "--output", file / "folder") == refusal
    assert said(capsys, "demo", "--folder", file) == refusal
    assert generated == []


def test_a_run_that_does_not_exist_cannot_be_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = said(capsys, "train", "--run", tmp_path / "misspelt")
    assert sentence.startswith(f"regard: There is no run {tmp_path / 'misspelt'}: to start one,")
    assert not (tmp_path / "misspelt").exists()


def test_an_error_of_the_system_names_the_file_that_was_given(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_lines(tmp_path / "one.en", ["ant"])
    command = ["translate", folder / "run", "--input", file, "--output", tmp_path / "one.de"]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, limits[1]))
        sentence = said(capsys, *command, code=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sentence == (
        f"regard: No space left to write {tmp_path / 'one.de'}: free some space and run the "
        "command again."
    )
    name = "x" * 250  # the temporary name is too long
    assert said(capsys, *command[:-1], tmp_path / name, code=1).endswith(f"{tmp_path / name}.")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has it")
def test_a_full_disk_behind_standard_output_is_said() -> None:
    shell = f"{sys.executable} -m regard recipes > /dev/full"
    ended = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    assert (
        ended.stderr
        == "regard: No space left on device: free some space and run the command again.\n"
    )


def test_a_folder_without_permission_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with read_only_folder() as locked:
        new = locked / "new"
        sentence = said(capsys, "corpus", "copy", "--output", new, "--pairs=2", code=1)
        assert sentence == (
            f"regard: No permission to use {new}: change its permissions, or choose another."
        )
        with pytest.raises(PermissionError) as caught:
            write_text(locked / "file", "text")
        assert caught.value.filename == str(locked / "file")


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("--steps=99999999999999999999", "--steps cannot be 99999999999999999999"),
        ("--epochs=1e300", "--epochs cannot be 1e+300: give 1000000 or less"),
        ("--set=model.layers=100000", "'model.layers' cannot be 100000: give 1000 or less"),
        ("--set=model.width=99999999", "'model.width' cannot be 99999999: give 262144 or less"),
        ("--set=tokenizer.vocabulary=2147483648", "'tokenizer.vocabulary' cannot be 2147483648"),
        ("--set=model.max_length=1", "'model.max_length' cannot be 1: give 2 or more"),
        (f"--set=model.layers={9**23}", f"'model.layers' cannot be {9**23}: give 1000 or less"),
        (f"--set=model.layers={'[' * 9000}", "'model.layers' cannot be '[[["),
        (f"--set=model.layers={'[' * 500}{']' * 500}", "'model.layers' cannot be '[[["),
        ("--set=training.agreement=1e300", "'training.agreement' any more"),
        (f"--set=training.keep={10**20}", "'training.keep' cannot be"),
        (f"--set=training.save_every={10**20}", "'training.save_every' cannot be"),
        (f"--set=training.dropout_ramp_epochs={10**20}", "'training.dropout_ramp_epochs' cannot"),
        ("--set=training.optimizer.rate=1e300", "'training.optimizer.rate' cannot be 1e+300"),
    ],
)
def test_what_no_machine_can_train_is_refused_before_a_run_begins(
    option: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    files = ["--source", tmp_path / "none", "--target", tmp_path / "none"]
    assert sentence in said(capsys, "train", "tiny", "--run", run, *files, option)
    assert not run.exists()


@pytest.mark.parametrize(
    ("temperature", "bound"),
    [("1e-300", "0.001 or more"), ("0", "0.001 or more"), ("1e300", "1000 or less")],
)
def test_a_temperature_that_leaves_no_distribution_is_refused(
    temperature: str, bound: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["translate", folder / "run", "--input", folder / "test.source", "--sample"]
    sentence = said(capsys, *command, f"--temperature={temperature}")
    assert sentence.endswith(f": give {bound}.")
    assert sentence.startswith("regard: --temperature cannot be")


@pytest.mark.parametrize("temperature", ["0.001", "1000"])
def test_the_extreme_temperatures_are_drawn_from(
    temperature: str, folder: Path, tmp_path: Path
) -> None:
    command = ["translate", folder / "run", "--input", folder / "test.source", "--sample"]
    more = [f"--temperature={temperature}", "--top-p=0.9", "--output", tmp_path / "drawn"]
    assert main([str(each) for each in [*command, *more]]) == 0
    lines = (folder / "test.source").read_text().splitlines()
    assert len((tmp_path / "drawn").read_text().splitlines()) == len(lines)


# lines and files that are not sentences


def test_cr_line_ends_are_named_when_a_run_is_trained_or_used(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.en"
    file.write_bytes(b"ant bee\rbee cat\rcat ant\r" * 40)
    run = tmp_path / "run"
    for command in (
        ["train", "tiny", "--run", run, "--source", file, "--target", file, "--quiet"],
        ["train", "tiny", "--run", run, "--pairs", file, "--quiet"],
        ["translate", folder / "run", "--input", file],
        ["score", folder / "run", "--source", file, "--target", file],
        ["evaluate", folder / "run", "--source", file, "--target", file],
    ):
        assert f"{file} has CR line ends, as on old Macintoshes" in said(capsys, *command)
    assert not run.exists()


LONG_LINES = {
    "one word": "x" * 100_000,
    "words": "ant " * 24_999 + "bee",
    "white space": "ant" + " " * 99_990 + "bee",
    "different letters": "".join(map(chr, range(0x4E00, 0x4E64))) * 1_000,
}


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word"])
@pytest.mark.parametrize("line", LONG_LINES.values(), ids=LONG_LINES)
def test_a_very_long_line_takes_no_time(
    line: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 99_000 < len(line) <= 100_000
    lines = [*some_lines(60, seed=4), line]
    files = [write_lines(tmp_path / name, lines) for name in ("source", "target")]
    settings = [*SMALL, "tokenizer.vocabulary=500", f"tokenizer.kind={kind}"]
    settings += ["training.processes=1"]
    before = time.process_time()
    regard.train("tiny", Parallel(*files), run=tmp_path / "run", steps=1, settings=settings)
    assert "Traceback" not in capsys.readouterr().err
    one = write_lines(tmp_path / "one", [line])
    output = tmp_path / "translated"
    assert main(["translate", str(tmp_path / "run"), f"--input={one}", f"--output={output}"]) == 0
    both = [f"--source={one}", f"--target={one}"]
    assert main(["score", str(tmp_path / "run"), *both]) == 0
    assert main(["evaluate", str(tmp_path / "run"), *both, "--workers=1"]) == 0
    assert time.process_time() - before < 20  # it is about three


# from Python


@pytest.mark.parametrize("lines", [5, [None], b"ant", None])
def test_what_is_no_text_is_refused(lines: Any, folder: Path) -> None:
    with pytest.raises(UsageError, match="Give a line of text") as caught:
        regard.load(folder / "run")(lines)
    assert_for_people(str(caught.value))


def test_files_that_are_not_parallel_are_refused(folder: Path, tmp_path: Path) -> None:
    wrong: Any = "one.en"
    run, both = folder / "run", Parallel(folder / "test.source", folder / "test.target")
    calls: list[Callable[[], Any]] = [
        lambda: regard.train("tiny", wrong, run=tmp_path / "new"),
        lambda: regard.train("tiny", both, run=tmp_path / "new", valid=wrong),
        lambda: regard.evaluate(run, wrong),
        lambda: regard.score(run, wrong),
        lambda: regard.compare([run, run], wrong),
        lambda: regard.tune_judges(run, ["pair=x:1"], wrong),
        lambda: regard.ladder(["tiny"], wrong, output=tmp_path / "new", steps=1),
        lambda: regard.distill(run, wrong, output=tmp_path / "new"),
    ]
    for call in calls:
        with pytest.raises(UsageError, match=r"'one.en' .*Parallel\(") as caught:
            call()
        assert_for_people(str(caught.value).replace("Parallel(source, target)", ""))
    assert not (tmp_path / "new").exists()
