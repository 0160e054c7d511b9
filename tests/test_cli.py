"""The command line from end to end: a stranger's files in, translations and scores out."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from toy import ABLE, SMALL, small_command, some_lines, start, turned, write_corpus, write_lines

from regard.cli import main
from regard.runs.folder import Run


class Outcome:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        self.lines = out.splitlines()


@pytest.fixture
def regard(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command, called in this process."""

    def call(*arguments: Any, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, a run that has learned it, and one that has not."""
    folder = tmp_path_factory.mktemp("cli")
    corpus = write_corpus(folder, pairs=400)
    files = [f"--{name.replace('_', '-')}={path}" for name, path in corpus.items()]
    chosen = [part for setting in ABLE for part in ("--set", setting)]
    able = ["train", "lstm_attention", "--run", str(folder / "able"), *files, *chosen]
    assert main([*able, "--steps", "120", "--quiet"]) == 0
    assert main(small_command(folder / "weak", corpus, "--steps", "3", "--quiet")) == 0
    return folder


def test_translating_standard_input_keeps_order_and_empty_lines(regard: Any, folder: Path) -> None:
    lines = some_lines(12, seed=77)
    lines[3] = lines[7] = ""
    lines[9] = "   "
    result = regard("translate", folder / "able", stdin="\n".join(lines).encode())
    assert result.code == 0
    assert len(result.lines) == len(lines)
    assert [not line for line in result.lines] == [not line.strip() for line in lines]
    right = sum(a == turned(b) for a, b in zip(result.lines, lines, strict=True))
    assert right >= 9


def test_files_instead_of_standard_streams(regard: Any, folder: Path, tmp_path: Path) -> None:
    source = folder / "test.source"
    plain = regard("translate", folder / "able", stdin=source.read_bytes())
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    also = tmp_path / "also"
    also.write_bytes(lzma.compress(source.read_bytes()))
    for name in (source, packed, also):
        result = regard("translate", folder / "able", "--input", name, "--output", tmp_path / "o")
        assert (result.code, result.out) == (0, "")
        assert (tmp_path / "o").read_text() == plain.out
    assert not list(tmp_path.glob(".*"))


def test_the_size_of_batches_does_not_change_the_result(regard: Any, folder: Path) -> None:
    stdin = (folder / "test.source").read_bytes()
    few = regard("translate", folder / "able", "--batch-tokens", 1, stdin=stdin)
    many = regard("translate", folder / "able", "--batch-tokens", 10_000, stdin=stdin)
    assert few.lines == many.lines
    assert len(many.lines) == 30


def test_the_best_come_with_number_and_score(regard: Any, folder: Path) -> None:
    result = regard("translate", folder / "able", "--best", 3, "--beam", 4, stdin=b"ant bee\n\ncat")
    rows = [line.split("\t") for line in result.lines]
    assert [row[0] for row in rows] == ["0", "0", "0", "1", "2", "2", "2"]
    assert rows[0][2] == "BEE ANT"
    assert rows[3][2] == ""  # an empty line stays one
    assert rows[4][2] == "CAT"
    for three in (rows[:3], rows[4:]):
        scores = [float(row[1]) for row in three]
        assert scores == sorted(scores, reverse=True)
        assert len({row[2] for row in three}) == 3


def test_greedy_search_and_a_beam_that_is_too_narrow(regard: Any, folder: Path) -> None:
    assert regard("translate", folder / "able", "--beam", 1, stdin=b"ant bee").lines == ["BEE ANT"]
    refused = regard("translate", folder / "able", "--beam", 2, "--best", 3, stdin=b"ant")
    assert refused.code == 2
    assert "a beam of 2 cannot give the 3 best" in refused.err


def test_eight_bits_and_a_shortlist_still_translate(regard: Any, folder: Path) -> None:
    lines = some_lines(200, seed=79)
    right = [turned(line) for line in lines]
    data = "\n".join(lines).encode()
    for options in (["--int8"], ["--shortlist", 3], ["--int8", "--shortlist", 3]):
        result = regard("translate", folder / "able", *options, stdin=data)
        assert result.code == 0
        same = sum(map(str.__eq__, result.lines, right))
        assert same > 0.9 * len(right)
    assert (folder / "able" / "likely.npy").exists()
    (folder / "able" / "likely.npy").write_bytes(b"damaged")
    assert regard("translate", folder / "able", *options, stdin=data).lines == result.lines
    assert regard("evaluate", folder / "able", "--int8", "--shortlist", 3).code == 0
    assert regard("translate", folder / "able", "--shortlist", 101).code == 2


def test_workers_give_what_one_gives(regard: Any, folder: Path) -> None:
    data = "\n".join(some_lines(300, seed=80)).encode()
    alone = regard("translate", folder / "able", "--workers", 1, stdin=data)
    together = regard("translate", folder / "able", "--workers", 2, stdin=data)
    assert len(alone.lines) == 300
    assert together.lines == alone.lines


def test_what_is_drawn_does_not_depend_on_the_number_of_workers(regard: Any, folder: Path) -> None:
    data = "\n".join(some_lines(200, seed=81)).encode()
    alone, together = (
        regard("translate", folder / "weak", "--sample", "--workers", workers, stdin=data)
        for workers in (1, 2)
    )
    assert together.lines == alone.lines


def test_sampling_follows_from_its_seed(regard: Any, folder: Path) -> None:
    def sample(seed: int, *more: Any) -> list[str]:
        arguments = ("translate", folder / "weak", "--sample", "--seed", seed, *more)
        lines: list[str] = regard(*arguments, stdin=b"ant bee cat\n" * 6).lines
        return lines

    assert sample(1) == sample(1)
    assert sample(1) != sample(2)
    assert len(set(sample(1))) > 1
    assert len(set(sample(1, "--top-k", 1))) == 1
    assert len(set(sample(1, "--top-p", 0.0001))) == 1
    assert len(set(sample(1, "--temperature", 0.001))) == 1


def test_a_prefix_is_kept_and_the_rest_found(regard: Any, folder: Path, tmp_path: Path) -> None:
    prefix = write_lines(tmp_path / "prefix", ["HEN", "", "DOG EEL"])
    result = regard(
        "translate", folder / "able", "--prefix", prefix, stdin=b"ant bee\nant bee\ncat dog\n"
    )
    assert result.lines[0].startswith("HEN")
    assert result.lines[1] == "BEE ANT"
    assert result.lines[2].startswith("DOG EEL")
    for count in (1, 4):
        wrong = write_lines(tmp_path / "wrong", ["HEN"] * count)
        refused = regard("translate", folder / "able", "--prefix", wrong, stdin=b"ant\nbee\n")
        assert refused.code == 2
        assert "prefixes than lines" in refused.err


def test_scoring_prefers_the_right_target(regard: Any, folder: Path, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "source", ["ant bee cat", "ant bee cat"])
    target = write_lines(tmp_path / "target", ["CAT BEE ANT", "ANT BEE CAT"])
    result = regard("score", folder / "able", "--source", source, "--target", target)
    assert result.code == 0
    right, wrong = map(float, result.lines)
    assert wrong < right < 0
    assert "2 pairs, 8 tokens" in result.err


def test_line_n_of_what_is_written_is_of_line_n_of_the_files(
    regard: Any, folder: Path, tmp_path: Path
) -> None:
    source = write_lines(tmp_path / "source", ["ant bee", "", "cat", "dog", "x" * 200_000])
    target = write_lines(tmp_path / "target", ["BEE ANT", "CAT", "CAT", "", "HEN"])
    files = ("--source", source, "--target", target)
    scored = regard("score", folder / "able", *files)
    assert [bool(line) for line in scored.lines] == [True, False, True, False, False]
    assert "2 pairs, 5 tokens" in scored.err
    assert regard("evaluate", folder / "able", *files, "--output", tmp_path / "o").code == 0
    assert (tmp_path / "o").read_text() == "BEE ANT\n\nCAT\n\n\n"


def test_evaluating_gives_every_score_with_its_signature(regard: Any, folder: Path) -> None:
    files = ["--source", folder / "test.source", "--target", folder / "test.target"]
    plain = regard("evaluate", folder / "able", *files)
    assert plain.code == 0
    assert [line.split()[0] for line in plain.lines] == [
        "BLEU",
        "chrF",
        "TER",
        "exact",
        "perplexity",
    ]
    assert all(line.endswith("]") for line in plain.lines)
    told = json.loads(regard("evaluate", folder / "able", *files, "--json").out)
    scores = {score["name"]: score for score in told["scores"]}
    assert scores["exact"]["value"] > 80
    assert scores["BLEU"]["value"] > 80
    assert scores["chrF"]["value"] > 80
    assert scores["TER"]["value"] < 20
    assert 1 < scores["perplexity"]["value"] < 2
    for name in ("BLEU", "chrF", "TER"):
        assert "version:2" in scores[name]["signature"]
        assert "nrefs:1" in scores[name]["signature"]
    assert "tok:13a" in scores["BLEU"]["signature"]


def test_evaluating_keeps_the_translations_if_asked(
    regard: Any, folder: Path, tmp_path: Path
) -> None:
    regard(
        "evaluate",
        folder / "able",
        *("--source", folder / "test.source", "--target", folder / "test.target"),
        *("--output", tmp_path / "kept", "--lowercase", "--tokenize", "char"),
    )
    plain = regard("translate", folder / "able", stdin=(folder / "test.source").read_bytes())
    assert (tmp_path / "kept").read_text() == plain.out


def test_comparing_tells_a_real_difference(regard: Any, folder: Path) -> None:
    files = ["--source", folder / "test.source", "--target", folder / "test.target"]
    told = json.loads(regard("compare", folder / "weak", folder / "able", *files, "--json").out)
    rows = {(row["name"].rsplit("/")[-1], row["metric"]): row for row in told}
    assert rows["weak", "BLEU"]["p_value"] is None
    assert rows["able", "BLEU"]["p_value"] < 0.05
    assert rows["able", "BLEU"]["value"] > rows["weak", "BLEU"]["value"]
    assert "bs:1000" in rows["able", "BLEU"]["signature"]
    same = json.loads(regard("compare", folder / "able", folder / "able", *files, "--json").out)
    assert [row["p_value"] for row in same if row["p_value"] is not None] == [1.0] * 4


def test_comparing_without_files_uses_the_validation_data(regard: Any, folder: Path) -> None:
    result = regard("compare", folder / "weak", folder / "able")
    assert result.code == 0
    assert len(result.lines) == 12  # two runs by four metrics, and four signatures
    assert regard("compare", folder / "weak").code == 2


def test_comparing_runs_of_other_data_needs_files_but_not_the_same_tokenizer(
    regard: Any, folder: Path, tmp_path: Path
) -> None:
    other = write_corpus(tmp_path, seed=5)
    settings = tuple(s.replace("kind=word", "kind=character") for s in SMALL)
    command = small_command(tmp_path / "other", other, "--steps=2", "--quiet", settings=settings)
    assert regard(*command).code == 0
    refused = regard("compare", folder / "able", tmp_path / "other")
    assert refused.code == 2
    assert "different validation data" in refused.err
    files = ["--source", folder / "test.source", "--target", folder / "test.target"]
    assert regard("compare", folder / "able", tmp_path / "other", *files).code == 0


def test_info_and_recipes(regard: Any, folder: Path) -> None:
    plain = regard("info", folder / "able")
    shown = dict(line.split(maxsplit=1) for line in plain.lines if line)
    assert shown["model"].strip() == "recurrent"
    assert shown["trained"].strip() == "120 of 120 steps"
    assert shown["model.width"].strip() == "32"
    told = json.loads(regard("info", folder / "able", "--json").out)
    assert told["config"]["model"]["width"] == 32
    names = [line.split()[0] for line in regard("recipes").lines]
    assert {"tiny", "small", "base", "big"} <= set(names)


def test_the_same_command_on_a_finished_run_says_so(regard: Any, folder: Path) -> None:
    corpus = {
        f"{prefix}{side}": folder / f"{part}.{side}"
        for prefix, part in (("", "train"), ("valid_", "valid"))
        for side in ("source", "target")
    }
    again = regard(*small_command(folder / "weak", corpus, "--steps", "3"))
    assert again.code == 0
    assert again.out == ""
    assert "weak is finished" in again.err.replace("\n", " ")
    assert regard("train", "--run", folder / "weak").code == 0


def test_progress_without_a_terminal_is_plain_lines(
    regard: Any, folder: Path, tmp_path: Path
) -> None:
    corpus = {"source": folder / "train.source", "target": folder / "train.target"}
    told = regard(
        *small_command(tmp_path / "run", corpus, "--steps", "200", "--set", "batch.tokens=16")
    )
    assert told.code == 0
    assert "\x1b" not in told.err
    assert "\r" not in told.err
    lines = told.err.splitlines()
    assert sum(line.startswith("step 100: loss ") for line in lines) == 1
    assert any(line.startswith("step 200: validation loss ") for line in lines)
    assert any(line.startswith("Held out ") for line in lines)
    assert lines[-1].startswith("Trained 200 steps")


FILES = ["--source", "S", "--target", "T"]
BEGIN = ["train", "tiny", "--run", "R"]
WRONG: dict[str, tuple[list[str], str]] = {
    "unknown recipe": (["train", "teeny", "--run", "R", *FILES], "tiny"),
    "no run": (["train", "tiny", *FILES], "--run FOLDER"),
    "no files": (BEGIN, "--source and --target"),
    "one file": ([*BEGIN, "--source", "S"], "--target"),
    "one validation file": ([*BEGIN, *FILES, "--valid-source", "S"], "--valid-target"),
    "nothing but a new run": (["train", "--run", "R"], "give a recipe"),
    "two budgets": ([*BEGIN, *FILES, "--steps", "1", "--epochs", "1"], "one budget only"),
    "no steps": ([*BEGIN, "--steps", "0"], "--steps"),
    "half a step": ([*BEGIN, "--steps", "1.5"], "--steps"),
    "negative epochs": ([*BEGIN, *FILES, "--epochs", "-1"], "--epochs cannot be"),
    "endless minutes": ([*BEGIN, *FILES, "--minutes", "inf"], "--minutes cannot be"),
    "unknown option": (["train", "tiny", "--stepz", "1"], "--stepz"),
    "unknown command": (["trian"], "trian"),
    "missing argument": (["translate"], "RUN"),
    "not a run": (["translate", "S"], "is not a run"),
    "no such run": (["info", "nowhere"], "nowhere is not a run"),
    "no such input": (["translate", "ABLE", "--input", "nowhere"], "Cannot read nowhere"),
    "no such folder": (["translate", "ABLE", "--output", "nowhere/o"], "create it first"),
    "a folder for a file": (["translate", "ABLE", "--output", "."], "is a folder"),
    "no beam": (["translate", "ABLE", "--beam", "0"], "--beam"),
    "no temperature": (
        ["translate", "ABLE", "--sample", "--temperature", "0"],
        "--temperature cannot be",
    ),
    "too much probability": (
        ["translate", "ABLE", "--sample", "--top-p", "2"],
        "--top-p cannot be",
    ),
    "a seed without drawing": (["translate", "ABLE", "--seed", "5"], "--seed has no effect"),
    "top-p without drawing": (["translate", "ABLE", "--top-p", "0.5"], "--top-p has no effect"),
    "drawing with a beam": (
        ["translate", "ABLE", "--sample", "--beam", "3"],
        "--beam has no effect",
    ),
    "drawing with a penalty": (
        ["translate", "ABLE", "--sample", "--length-penalty", "0"],
        "--length-penalty has no effect",
    ),
    "a greedy translation with a penalty": (
        ["translate", "ABLE", "--beam", "1", "--length-penalty", "0"],
        "--length-penalty has no effect with greedy search, a beam of 1; remove it.",
    ),
    "a greedy evaluation with a penalty": (
        ["evaluate", "ABLE", "--beam", "1", "--length-penalty", "0"],
        "--length-penalty has no effect with greedy search, a beam of 1; remove it.",
    ),
    "greedy distillation with a penalty": (
        [
            *("distill", "ABLE", "--source", "S", "--output", "out"),
            *("--beam", "1", "--length-penalty", "0"),
        ],
        "--length-penalty has no effect with greedy search, a beam of 1; remove it.",
    ),
    "heads without alignments": (
        ["translate", "ABLE", "--attention-heads", "1.1"],
        "--attention-heads has no effect without --alignments; remove it.",
    ),
    "a method without alignments": (
        ["evaluate", "ABLE", "--method", "argmax"],
        "--method has no effect without --alignments; remove it.",
    ),
    "a gold without alignments": (
        ["evaluate", "ABLE", "--gold-reversed"],
        "--gold-reversed has no effect without --alignments; remove it.",
    ),
    "unknown tokenization": (["evaluate", "ABLE", "--tokenize", "klingon"], "--tokenize cannot be"),
}
SETTINGS = {
    "model.layer=2": "Did you mean 'layers'?",
    "modell.layers=2": "Did you mean 'model'?",
    "training.optimiser.rate=1": "Did you mean 'optimizer'?",
    "model.layers=two": "'model.layers' cannot be 'two'",
    "model.layers=0": "'model.layers' cannot be 0",
    "model.layers=1.5": "'model.layers' cannot be 1.5",
    "model.width=17": "cannot be split",
    "model.kind=perceptron": "choose one of",
    "training.seed=99999999999999999999": "training.seed",
    "training.optimizer.rate=nan": "training.optimizer.rate",
    "training.optimizer.betas=[2,2]": "training.optimizer.betas",
    "training.metric=rouge": "training.metric",
    "tokenizer.kind=word tokenizer.sampling=0.1": "only the kinds bpe and unigram",
    "model.layers": "path.to.key=value",
    "budget.steps=5": "give exactly one of steps",
}
for setting, sentence in SETTINGS.items():
    chosen = [part for each in setting.split(" ") for part in ("--set", each)]
    WRONG[setting] = ([*BEGIN, *FILES, *chosen], sentence)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use_is_one_sentence_and_exit_code_2(
    name: str, regard: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, sentence = WRONG[name]
    monkeypatch.chdir(tmp_path)
    places = {
        "S": folder / "train.source",
        "T": folder / "train.target",
        "ABLE": folder / "able",
    }
    result = regard(*(places.get(argument, argument) for argument in arguments), stdin=b"ant\n")
    assert result.code == 2
    assert result.out == ""
    assert len(result.err.splitlines()) == 1, result.err
    assert result.err.startswith("regard: ")
    assert sentence in result.err
    assert list(tmp_path.iterdir()) == []


GOOD = "\n".join(some_lines(60, 1)).encode() + b"\n"
BAD_SOURCES: dict[str, tuple[bytes, str]] = {
    "fewer lines": (b"ant\n" * 59, "has 59 lines but"),
    "not UTF-8": (
        GOOD.replace(b"\n", b"\n\xff", 5).replace(b"\xff", b"", 4),
        "source:6 is not UTF-8",
    ),
    "UTF-16": ("ant\n".encode("utf-16") * 60, "UTF-16"),
    "empty": (b"", "is empty"),
    "blank": (b"\n" * 60, "no usable line"),
    "damaged gzip": (gzip.compress(GOOD)[:-20], "damaged gzip"),
}


@pytest.mark.parametrize("name", BAD_SOURCES)
def test_bad_data_is_refused_in_one_sentence(name: str, regard: Any, tmp_path: Path) -> None:
    data, sentence = BAD_SOURCES[name]
    (tmp_path / "source").write_bytes(data)
    target = write_lines(tmp_path / "target", map(turned, GOOD.decode().splitlines()))
    corpus = {"source": tmp_path / "source", "target": target}
    result = regard(*small_command(tmp_path / "run", corpus, "--steps", "1", "--quiet"))
    assert result.code == 2
    assert len(result.err.splitlines()) == 1, result.err
    assert sentence in result.err
    assert not (tmp_path / "run").exists()


def test_a_folder_or_a_missing_file_for_data_is_refused(regard: Any, tmp_path: Path) -> None:
    for wrong, sentence in ((tmp_path, "is a folder"), (tmp_path / "none", "No such file")):
        corpus = {"source": wrong, "target": wrong}
        result = regard(*small_command(tmp_path / "run", corpus, "--steps", "1", "--quiet"))
        assert result.code == 2
        assert sentence in result.err
        assert len(result.err.splitlines()) == 1


def test_odd_lines_are_skipped_counted_and_never_shift_the_others(
    regard: Any, tmp_path: Path
) -> None:
    """A byte order mark, CRLF, NUL, U+2028 and U+0085, an empty side, a line of a megabyte."""
    lines = [f"w{number}" for number in range(40)]
    sources = [*lines]
    sources[3] = ""
    sources[5] = "a\0b"
    sources[7] = "x" * 1_000_000
    sources[9] = "one\u2028two\u0085three"
    source = tmp_path / "source"
    source.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(sources).encode() + b"\r\n")
    target = write_lines(tmp_path / "target", lines)
    corpus = {"source": source, "target": target, "valid_source": target, "valid_target": target}
    result = regard(*small_command(tmp_path / "run", corpus, "--steps", "1"))
    assert result.code == 0
    for part in ("empty", "NUL", "longer than", "byte order mark", "CRLF"):
        assert part in result.err, part
    run = Run.open(tmp_path / "run")
    assert run.facts("data")["pairs"]["train"] == 37
    decode = run.tokenizers().source.decode
    pairs = [run.store("train").pair(i) for i in range(37)]
    for ids, other in pairs:
        if len(ids) == 1:
            assert decode(ids.tolist()) == decode(other.tolist())


def test_swapped_files_are_refused(regard: Any, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "source", some_lines(60, 1))
    target = write_lines(tmp_path / "target", ["uno dos tres"] * 30 + ["cuatro cinco"] * 30)
    right = {"source": source, "target": target, "valid_source": source, "valid_target": target}
    assert regard(*small_command(tmp_path / "run", right, "--steps=1", "--quiet")).code == 0
    wrong = {**right, "valid_source": target, "valid_target": source}
    for arguments in (
        ["evaluate", tmp_path / "run", "--source", target, "--target", source],
        ["score", tmp_path / "run", "--source", target, "--target", source],
        small_command(tmp_path / "other", wrong, "--steps", "1", "--quiet"),
    ):
        result = regard(*arguments)
        assert result.code == 2
        assert "swapped" in result.err
        assert len(result.err.splitlines()) == 1


def test_garbage_an_empty_file_and_endless_lines_on_standard_input(
    regard: Any, folder: Path
) -> None:
    garbage = regard("translate", folder / "able", stdin=b"ant\n\x80\x81\xfe\n")
    assert garbage.code == 2
    assert "stdin:2 is not UTF-8" in garbage.err
    nothing = regard("translate", folder / "able", stdin=b"")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "")
    long = regard("translate", folder / "able", "--beam", 1, stdin=b"ant " * 20_000 + b"\nbee\n")
    assert long.code == 0
    assert len(long.lines) == 2
    assert long.lines[1] == "BEE"
    assert "Truncated 1 long line to 1,000 pieces" in long.err


def test_words_never_seen_and_odd_characters_are_translated_somehow(
    regard: Any, folder: Path
) -> None:
    stdin = "zebra\n\u2028 ant\nant\u0085bee\n\U0001f600 ant\n".encode()
    result = regard("translate", folder / "able", stdin=stdin)
    assert result.code == 0
    assert result.out.count("\n") == 4


def test_a_reader_that_leaves_is_no_error_to_speak_of(folder: Path) -> None:
    process = start(
        ["translate", str(folder / "able"), "--beam", "1"], stdin=subprocess.PIPE, text=False
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    process.stdin.write(b"ant bee\n" * 9000)
    process.stdin.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=120) != 0


def test_output_to_a_device_goes_to_the_device(regard: Any, folder: Path) -> None:
    """It must not be replaced by a file."""
    assert regard("translate", folder / "able", "--output", "/dev/null", stdin=b"ant").code == 0
    assert Path("/dev/null").is_char_device()


def test_help_names_every_verb(regard: Any) -> None:
    told = regard("--help")
    assert told.code == 0
    for verb in ("train", "translate", "score", "evaluate", "compare", "info", "recipes"):
        assert verb in told.out
        assert regard(verb, "--help").code == 0
    assert regard().code == 2
