"""The ladder: the same data and budget for every variant, one table, and nothing done twice."""

from __future__ import annotations

import itertools
import json
import math
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from toy import (
    ABLE,
    SMALL,
    at_step,
    crash,
    parallel,
    saved_steps,
    some_lines,
    tensors,
    terminate,
    turned,
    write_corpus,
    write_lines,
)

import regard
from regard.cli import main
from regard.corpora import drawn_words
from regard.data.line import Line, Pair
from regard.data.parallel import Parallel
from regard.errors import Interrupted, RegardError, UsageError
from regard.ladders import ladder as laddering
from regard.ladders import measure as measuring
from regard.ladders.measure import Bucket, Estimate, Measurement, decoding_speed, length_buckets
from regard.ladders.report import VariantResult, write_report
from regard.ladders.variants import DEFAULT_RECIPES, Variant, read_variants
from regard.metrics.text import TextMetrics
from regard.predict import Predictor
from regard.recipes import RECIPES
from regard.recipes.config import Config
from regard.runs.folder import Run
from regard.runs.load import build_model
from regard.search.beam import Beam

pytestmark = pytest.mark.usefixtures("short_timings")

QUICK = TextMetrics(bootstrap=50)
VARIANTS = ["rnn_plain", "able=lstm_attention:model.width=24,training.optimizer.betas=[0.9,0.98]"]


def silent(text: str) -> None:
    pass


def ladder(
    variants: list[str], folder: Path, corpus: dict[str, Path], **more: Any
) -> list[VariantResult]:
    """In this process, with the test files unless others are given."""
    tests = {f"test_{side}": folder / f"test.{side}" for side in ("source", "target")}
    chosen = {"metrics": QUICK, "quiet": True, "say": silent, **tests, **corpus, **more}
    return regard.ladder(variants, **parallel(chosen))


def test_what_a_later_variant_cannot_read_is_found_before_anything_is_trained(
    tmp_path: Path,
) -> None:
    corpus = write_corpus(tmp_path)
    with pytest.raises(UsageError, match="names the picture"):
        ladder(["tiny", "spatial"], tmp_path, corpus, output=tmp_path / "out", steps=1)
    assert not (tmp_path / "out").exists()


def test_pictures_to_measure_on_are_found_beside_their_list(tmp_path: Path) -> None:
    drawn_words.write(drawn_words.generate(1, held_out=20), tmp_path)
    listed = {"source": tmp_path / "test.paths", "target": tmp_path / "test.target"}
    tests = {f"test_{side}": path for side, path in listed.items()}
    small = ["model.width=16", "training.processes=1", "search.max_length_extra=3"]
    chosen = {"steps": 1, "settings": small, **tests}
    (found,) = ladder(["spatial"], tmp_path, listed, output=tmp_path / "out", **chosen)
    assert found.measured is not None
    assert found.measured.by_length[0].lines == 20


def again(folder: Path, **more: Any) -> list[VariantResult]:
    """The ladder of the fixture, a second time."""
    corpus = {
        f"{prefix}{side}": folder / f"{part}.{side}"
        for prefix, part in (("", "train"), ("valid_", "valid"))
        for side in ("source", "target")
    }
    chosen = {"output": folder / "out", "steps": 40, "settings": ABLE, **more}
    return ladder(VARIANTS, folder, corpus, **chosen)


def measured(sources: list[str]) -> measuring.TestSet:
    lines = enumerate(sources, 1)
    return measuring.TestSet([Pair(n, Line(line), Line(turned(line))) for n, line in lines], "")


def no_measuring(*arguments: Any) -> Measurement:
    raise AssertionError("nothing was to be measured")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ladder of two variants that have learned something."""
    folder = tmp_path_factory.mktemp("ladder")
    write_corpus(folder, pairs=300)
    lines = some_lines(100, seed=5)
    write_lines(folder / "test.source", lines)
    write_lines(folder / "test.target", map(turned, lines))
    again(folder)
    return folder


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "out" / "ladder.json").read_text())
    return loaded


class Page(HTMLParser):
    """What a browser would find, with every tag closed in its order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)
        for name, value in attributes:
            assert name not in ("src", "href"), value

    def handle_startendtag(self, tag: str, attributes: Any) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def cells(line: str) -> list[str]:
    """Of a line of a Markdown table; a bar that is escaped is text."""
    return [cell.strip() for cell in line.replace(r"\|", "").strip("|").split("|")]


def test_the_table_and_the_picture_are_written_and_whole(folder: Path) -> None:
    out = folder / "out"
    page = Page((out / "ladder.html").read_text())
    assert page.seen.count("table") == 2
    assert page.seen.count("svg") == 1
    assert "script" not in page.seen
    assert {"rnn_plain", "able"} <= set(page.texts)
    picture = ElementTree.parse(out / "ladder.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert picture.tag == f"{space}svg"
    names = [text.text for text in picture.iter(f"{space}text")]
    assert [names.count(name) for name in ("rnn_plain", "able")] == [2, 2]
    drawn = [group.get("id", "") for group in picture.iter(f"{space}g")]
    assert [f"{kind}-{n}" in drawn for kind in ("by-length", "interval") for n in (0, 1)] == [
        True
    ] * 4
    assert (out / "ladder.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_markdown_has_a_line_for_each_variant_in_both_tables(folder: Path) -> None:
    text = (folder / "out" / "ladder.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert [cells(line)[0] for line in lines] == ["variant", "---", "rnn_plain", "able"] * 2
    assert len({len(cells(line)) for line in lines[:4]}) == 1
    assert len({len(cells(line)) for line in lines[4:]}) == 1
    assert "(ladder.svg)" in text
    assert "All 2 variants are done." in text
    assert "Each was trained for 40 steps on train.source and train.target." in text
    assert "Measured on 100 pairs of test.source and test.target." in text
    assert "able is lstm_attention with model.width=24" in text
    assert text.count("bs:50") == 1  # the signature


def test_the_numbers_are_those_of_evaluate(folder: Path, told: dict[str, Any]) -> None:
    data = Parallel(folder / "test.source", folder / "test.target")
    lines = (folder / "test.target").read_text().splitlines()
    units = sum(len(line.split()) + 1 for line in lines)
    for row in told["variants"]:
        path = folder / "out" / row["name"]
        for name, beam in (("greedy", 1), ("beam", 5)):
            result = regard.evaluate(path, data, search=Beam(beam=beam), metrics=QUICK)
            bleu = result.scores[0]
            assert row[name] == {"value": bleu.value, "margin": bleu.margin}
            assert row["perplexity"] == pytest.approx(result["perplexity"])
        assert row["signature"] == bleu.signature
        assert row["metric"] == "BLEU"
        total = sum(total for total, _ in regard.score(path, data))
        assert row["word_perplexity"] == pytest.approx(math.exp(-total / units))
        assert row["parameters"] == sum(p.numel() for p in build_model(Run.open(path)).parameters())
    first, second = (row["beam"]["value"] for row in told["variants"])
    assert min(first, second) > 0  # both have learned something
    assert first != second


def test_lines_that_are_not_read_whole_have_no_perplexity_per_word(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Config, "length_limit", 3)
    known = measured([f"{line} hen hen hen" for line in some_lines(20, seed=6)])
    row = measuring.measure(Run.open(folder / "out" / "able"), known, QUICK, silent)
    assert row.word_perplexity is None
    assert row.perplexity > 1


def test_decoding_is_timed_as_translate_does_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Predictor] = []

    def make(*arguments: Any, **more: Any) -> Predictor:
        made.append(Predictor(*arguments, **more))
        return made[-1]

    monkeypatch.setattr(measuring, "Predictor", make)
    known = measured(some_lines(20, seed=6))
    measuring.measure(Run.open(folder / "out" / "able"), known, QUICK, silent)
    assert [(each.search.beam, each.search.gives_probabilities) for each in made] == [
        (1, False),
        (5, True),
        (1, False),
    ]
    assert all(each.model.output.product is not None for each in made)  # prepared


def test_a_greedy_search_can_be_measured(tmp_path: Path, corpus: dict[str, Path]) -> None:
    (result,) = small(tmp_path / "out", corpus, ["tiny"], settings=(*SMALL, "search.beam=1"))
    assert result.measured is not None


def test_buckets_are_scored_by_their_own_lines(folder: Path, told: dict[str, Any]) -> None:
    files: dict[str, Any] = {
        "source": folder / "test.source",
        "target": folder / "test.target",
    }
    outputs = regard.evaluate(folder / "out" / "able", Parallel(**files), metrics=QUICK).outputs
    sources, references = (path.read_text().splitlines() for path in files.values())
    row = told["variants"][1]
    assert len(row["by_length"]) > 1
    for bucket in row["by_length"]:
        fits = range(bucket["shortest"], bucket["longest"] + 1)
        chosen = [i for i, line in enumerate(sources) if len(line.split()) in fits]
        bleu = sacrebleu.corpus_bleu(
            [outputs[i] for i in chosen], [[references[i] for i in chosen]]
        )
        assert bucket["lines"] == len(chosen)
        assert bucket["score"]["value"] == pytest.approx(bleu.score)
    assert sum(bucket["lines"] for bucket in row["by_length"]) == 100


def test_training_is_told_by_its_journal(folder: Path, told: dict[str, Any]) -> None:
    for row in told["variants"]:
        run = Run.open(folder / "out" / row["name"])
        speeds = [r["tokens_per_second"] for r in run.journal if r["event"] == "train"]
        assert row["steps"] == row["checkpoint"] == 40
        assert row["tokenizer"] == "word 20"
        assert min(speeds) <= row["tokens_per_second"] <= max(speeds)
        tokens = 40 * 512  # at most, padding included
        assert 0.3 * tokens / max(speeds) < 60 * row["minutes"] < tokens / min(speeds)
        assert row["speed_single"] > 0
        assert row["speed_batched"] > row["speed_single"]


def test_the_same_command_trains_and_measures_nothing_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = [
        folder / "out" / name for name in ("ladder.md", "rows/rnn_plain.json", "rows/able.json")
    ]
    before = [path.read_bytes() for path in kept]
    kept[0].unlink()
    monkeypatch.setattr(laddering, "measure", no_measuring)
    with at_step(1, crash):
        results = again(folder)
    assert [path.read_bytes() for path in kept] == before
    assert [result.variant.name for result in results] == ["rnn_plain", "able"]


def test_what_was_measured_otherwise_is_measured_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other lines, another way of scoring, other weights, a damaged row."""
    measured: list[str] = []

    def note(run: Run, *arguments: Any) -> Measurement:
        measured.append(run.path.name)
        return measuring.measure(run, *arguments)

    monkeypatch.setattr(laddering, "measure", note)
    row = folder / "out" / "rows" / "able.json"
    before = row.read_bytes()
    for damage in (before[:-20], before.replace(b'"fingerprint": "', b'"fingerprint": "0')):
        row.write_bytes(damage)
        assert again(folder)[1].measured.fingerprint == json.loads(before)["fingerprint"]
    assert measured == ["able", "able"]
    again(folder, metrics=TextMetrics(bootstrap=50, lowercase=True))
    assert measured[2:] == ["rnn_plain", "able"]
    valid = {f"test_{side}": folder / f"valid.{side}" for side in ("source", "target")}
    again(folder, **valid)
    assert measured[4:] == ["rnn_plain", "able"]
    again(folder)
    assert measured[6:] == ["rnn_plain", "able"]


def test_other_settings_for_the_same_folder_are_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="started with other settings") as refused:
        again(folder, steps=41)
    assert "another name for the variant" in str(refused.value)
    assert "--more" not in str(refused.value)


@pytest.fixture
def corpus(tmp_path: Path) -> dict[str, Path]:
    return write_corpus(tmp_path / "corpus")


PAIR = ["tiny", "deep=tiny:model.layers=2"]


def small(
    output: Path, corpus: dict[str, Path], variants: list[str], **more: Any
) -> list[VariantResult]:
    """A few steps of small Transformers."""
    chosen = {"output": output, "steps": 6, "settings": SMALL, **more}
    return ladder(variants, corpus["source"].parent, corpus, **chosen)


def test_a_stopped_ladder_goes_on_where_it_was(tmp_path: Path, corpus: dict[str, Path]) -> None:
    small(tmp_path / "whole", corpus, PAIR)
    out = tmp_path / "stopped"
    with pytest.raises(Interrupted), at_step(9, terminate):
        small(out, corpus, PAIR)
    assert saved_steps(out / "tiny") == [6]
    assert saved_steps(out / "deep") == [3]
    assert "1 of 2 variants so far." in (out / "ladder.md").read_text()
    first = (out / "rows" / "tiny.json").read_bytes()
    said: list[str] = []
    with at_step(4, crash):
        small(out, corpus, PAIR, say=said.append)
    assert said == ["1 of 2: tiny", "2 of 2: deep", "Measuring deep."]
    assert (out / "rows" / "tiny.json").read_bytes() == first
    assert tensors(out / "deep", 6) == tensors(tmp_path / "whole" / "deep", 6)
    assert "All 2 variants are done." in (out / "ladder.md").read_text()


WILD = "wild=tiny:training.optimizer.rate=100,model.normalisation=none,training.not_finite=stop"


def test_a_variant_that_diverges_does_not_stop_the_others(
    tmp_path: Path, corpus: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The first, whose tokenizer the second uses, with no other lines than those held out."""
    out = tmp_path / "out"
    files = [f"--{name}={corpus[name]}" for name in ("source", "target")]
    settings = [f"--set={setting}" for setting in SMALL]
    rest = [f"--output={out}", "--steps=6", "--quiet"]
    assert main(["ladder", WILD, "tiny", *files, *settings, *rest]) == 1
    *_, told, ended = capsys.readouterr().err.splitlines()
    assert str(out / "ladder.html") in told
    assert ended.startswith("regard: 1 of 2 variants failed to train (wild):")
    wild, tiny = json.loads((out / "ladder.json").read_text())["variants"]
    assert "Training stopped at step " in wild["problem"]
    assert sorted(wild) == ["name", "problem", "recipe", "settings"]
    assert tiny["steps"] == 6
    text = (out / "ladder.md").read_text()
    lines = [cells(line) for line in text.splitlines() if line.startswith("|")]
    assert [line[0] for line in lines] == [
        "variant",
        "---",
        "wild",
        "tiny",
        "variant",
        "---",
        "tiny",
    ]
    assert lines[2][1:] == [wild["problem"], *[""] * (len(lines[0]) - 2)]
    assert "1 of 2 variants so far." in text
    assert "Not trained: wild; the same command tries again." in text
    written = (out / "ladder.html").read_text()
    assert f'<td colspan="{len(lines[0]) - 1}">' in written
    page = Page(written)
    assert wild["problem"] in page.texts
    assert page.texts.count("wild") == 1  # in the table, and not in the picture


def test_the_same_command_tries_a_variant_again(tmp_path: Path, corpus: dict[str, Path]) -> None:
    out, variants = tmp_path / "out", [*PAIR, "wide=tiny:model.inner=32"]
    said: list[str] = []
    with at_step(4, lambda: stumble(RegardError("It fell."))):
        results = small(out, corpus, variants, steps=2, say=said.append)
    assert said[2:] == ["2 of 3: deep", "Variant deep: It fell.", "3 of 3: wide", "Measuring wide."]
    assert [result.problem for result in results] == ["", "It fell.", ""]
    assert [result.measured is None for result in results] == [False, True, False]
    assert saved_steps(out / "deep") == []
    del said[:]
    with at_step(3, crash):
        results = small(out, corpus, variants, steps=2, say=said.append)
    assert said == ["1 of 3: tiny", "2 of 3: deep", "Measuring deep.", "3 of 3: wide"]
    assert all(result.measured for result in results)
    assert "All 3 variants are done." in (out / "ladder.md").read_text()


@pytest.mark.parametrize(
    "error", [UsageError("Wrong."), Interrupted("Saved.", 15), KeyboardInterrupt()]
)
def test_wrong_use_and_a_wish_to_stop_still_stop_at_once(
    tmp_path: Path, corpus: dict[str, Path], error: BaseException
) -> None:
    with pytest.raises(type(error)), at_step(1, lambda: stumble(error)):
        small(tmp_path / "out", corpus, PAIR, steps=1)
    assert not (tmp_path / "out" / "deep").exists()
    assert not (tmp_path / "out" / "ladder.md").exists()


def stumble(error: BaseException) -> None:
    raise error


def test_variants_share_the_tokenizer_unless_they_want_another(
    tmp_path: Path, corpus: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def note(recipe: str, data: Parallel, *, tokenizer: Any, **options: Any) -> Run:
        given.append(tokenizer)
        return regard.train(recipe, data, tokenizer=tokenizer, **options)

    monkeypatch.setattr(laddering, "train", note)
    monkeypatch.setattr(laddering, "measure", lambda *arguments: a_row(10.0))
    out = tmp_path / "out"
    bpe = "tokenizer.kind=bpe"
    variants = ["tiny", "a=tiny:tokenizer.kind=character", f"b=tiny:{bpe}", f"c=tiny:{bpe}"]
    variants[3] += ",tokenizer.sampling=0.1"
    small(out, corpus, [*variants, "d=tiny:model.layers=2"], steps=1)
    assert given == [None, None, None, out / "b", out / "tiny"]
    made = {name: (out / name / "tokenizer.json").read_bytes() for name in ("tiny", *"abcd")}
    assert made["tiny"] == made["d"]
    assert made["b"] == made["c"]
    assert len(set(made.values())) == 3
    assert (
        "All variants use the tokenizer of tiny, except a, b, c, whose"
        in (out / "ladder.md").read_text()
    )


def test_without_test_files_the_table_says_what_it_was_measured_on(
    tmp_path: Path, corpus: dict[str, Path]
) -> None:
    none = {"test_source": None, "test_target": None}
    small(tmp_path / "valid", corpus, ["tiny"], steps=1, **none)
    told = (tmp_path / "valid" / "ladder.md").read_text()
    assert "20 pairs of valid.source and valid.target, the validation data" in told
    unheld = {name: corpus[name] for name in ("source", "target")}
    apart = [*SMALL, "tokenizer.joint=false", "model.tying=target"]
    small(tmp_path / "held", unheld, ["tiny"], steps=1, settings=apart, **none)
    told = (tmp_path / "held" / "ladder.md").read_text()
    assert "5 pairs, held out of the training data" in told
    scored = regard.score(tmp_path / "held" / "tiny")
    mean = sum(total for total, _ in scored) / sum(count for _, count in scored)
    (row,) = json.loads((tmp_path / "held" / "ladder.json").read_text())["variants"]
    assert row["perplexity"] == pytest.approx(math.exp(-mean))
    assert row["tokenizer"] == "word 12 and 12"


def test_the_command_says_which_variant_it_is_at(
    tmp_path: Path, corpus: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = zip(
        *(corpus[side].read_text().splitlines() for side in ("source", "target")), strict=True
    )
    pairs = write_lines(tmp_path / "pairs.tsv", ("\t".join(row) for row in rows))
    settings = [part for setting in SMALL for part in ("--set", setting)]
    files = ["--pairs", pairs, "--valid-pairs", pairs, "--test-pairs", pairs]
    out = tmp_path / "out"
    rest = ["--output", out, "--steps", 1, "--seed", 3, "--quiet", "--tokenize", "char"]
    command = ["ladder", "tiny", "two=tiny:training.seed=2", *files, *settings, *rest]
    assert main([str(part) for part in command]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "1 of 2: tiny\n" in told.err
    assert "2 of 2: two\n" in told.err
    assert str(out / "ladder.html") in told.err
    seeds = [Run.open(out / name).config.training.seed for name in ("tiny", "two")]
    assert seeds == [3, 2]
    assert "tok:char" in (out / "ladder.json").read_text()


WRONG: dict[str, tuple[list[str], dict[str, Any], str]] = {
    "unknown recipe": (["tiny", "teeny"], {}, "There is no recipe 'teeny'"),
    "unknown recipe of a variant": (["a=teeny:model.layers=1"], {}, "There is no recipe 'teeny'"),
    "unknown setting": (["tiny", "a=tiny:model.layer=1"], {}, "Variant a: .*'layers'"),
    "no value": (["a=tiny:model.layers"], {}, "Variant a: .*path.to.key=value"),
    "setting that one lacks": (
        ["tiny", "lstm_attention"],
        {"settings": ["model.inner=2"]},
        "Variant",
    ),
    "language model": (["tiny", "a=language"], {}, "a is a language model"),
    "variant without a name": (["tiny:model.layers=1"], {}, "a name of its own"),
    "same name twice": (["tiny", "tiny"], {}, "Two variants are called 'tiny'"),
    "same name but for case": (["a=tiny", "A=tiny"], {}, "Two variants are called 'a'"),
    "name that leaves the folder": (["../a=tiny"], {}, "cannot be the name"),
    "name with a slash": (["a/b=tiny"], {}, "cannot be the name"),
    "name with a tag": (["<b>=tiny"], {}, "cannot be the name"),
    "name with a dot": ([".=tiny"], {}, "cannot be the name"),
    "name with a new line": (["a\n=tiny"], {}, "cannot be the name"),
    "endless name": (["a" * 65 + "=tiny"], {}, "cannot be the name"),
    "no name": (["=tiny"], {}, "cannot be the name"),
    "nothing": ([""], {}, "cannot be the name"),
    "name of ours": (["rows=tiny"], {}, "but not 'rows'"),
    "no budget": (["tiny"], {"steps": None}, "Give one budget for all variants"),
    "two budgets": (["tiny"], {"minutes": 1}, "Give one budget for all variants"),
    "budget of a variant": (["a=tiny:budget.epochs=3"], {}, "one budget"),
    "budget as a setting": (["tiny"], {"settings": ["budget.epochs=3"]}, "one budget"),
    "no files": (["tiny"], {"source": None, "target": None}, "--source and --target"),
    "missing file": (["tiny"], {"source": "nowhere"}, "nowhere"),
    "missing validation file": (["tiny"], {"valid_source": "nowhere"}, "nowhere"),
    "missing test file": (["tiny"], {"test_source": "nowhere"}, "nowhere"),
    "one test file": (["tiny"], {"test_source": None}, "--test-source and --test-target"),
    "seeds": (
        ["tiny", "a=tiny:training.seed=2"],
        dict.fromkeys(("valid_source", "valid_target", "test_source", "test_target")),
        "different seeds",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use_is_refused_before_anything_is_trained(
    name: str, tmp_path: Path, corpus: dict[str, Path]
) -> None:
    variants, more, sentence = WRONG[name]
    out = tmp_path / "out"
    with at_step(1, crash), pytest.raises(UsageError, match=sentence):
        ladder(variants, tmp_path / "corpus", corpus, **{"output": out, "steps": 1, **more})
    assert not out.exists()


def test_swapped_test_files_and_taken_folders_are_refused(
    tmp_path: Path, corpus: dict[str, Path]
) -> None:
    out, folder = tmp_path / "out", tmp_path / "corpus"
    swapped = {"test_source": folder / "test.target", "test_target": folder / "test.source"}
    target = write_lines(folder / "train.target", ["uno dos tres"] * 120)
    other = {"target": target, "valid_source": None, "valid_target": None}
    write_lines(folder / "test.target", ["uno dos tres"] * 30)
    with pytest.raises(UsageError, match="swapped"):
        small(out, corpus, ["tiny"], steps=1, **{**other, **swapped})
    (out / "deep").mkdir(parents=True)
    write_lines(out / "deep" / "thesis.txt", ["mine"])
    with at_step(1, crash), pytest.raises(UsageError, match="holds other files"):
        small(out, corpus, PAIR, steps=1)
    with pytest.raises(UsageError, match="is a file"):
        small(out / "deep" / "thesis.txt", corpus, PAIR, steps=1)


def test_wrong_use_of_the_command_is_one_sentence(
    tmp_path: Path, corpus: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    files = [f"--{name.replace('_', '-')}={path}" for name, path in corpus.items()]
    output = f"--output={tmp_path / 'out'}"
    for command in (
        ["ladder", "teeny", output, "--steps=1", *files],
        ["ladder", "tiny", "--steps=1", *files],
        ["ladder", "tiny", output, *files],
        ["ladder", "tiny", output, "--steps=1", "--tokenize=klingon", *files],
    ):
        assert main(command) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_without_variants_the_default_recipes_are_taken_in_order() -> None:
    names = [variant.name for variant in read_variants([])]
    assert names == [name for name in DEFAULT_RECIPES if name in RECIPES]
    assert names[0] == "rnn_plain"
    assert names[-1] == "tiny"
    assert Variant.read("a=tiny:x=[1,2],y.z=3,w=a,b") == Variant(
        "a", "tiny", ("x=[1,2]", "y.z=3", "w=a,b")
    )


@pytest.mark.parametrize(
    ("lengths", "groups"),
    [
        (list(range(200)), 4),
        ([number % 40 for number in range(1000)], 4),
        ([5] * 300 + list(range(30, 60)), 2),
        ([5] * 300 + list(range(10)), 1),
        ([7] * 500, 1),
        (list(range(79)), 3),
        (list(range(41)), 2),
        (list(range(39)), 1),
        ([3], 1),
    ],
)
def test_length_buckets_cover_every_line_once(lengths: list[int], groups: int) -> None:
    buckets = length_buckets(lengths)
    assert sorted(index for bucket in buckets for index in bucket) == list(range(len(lengths)))
    assert len(buckets) == groups
    ranges = [sorted({lengths[index] for index in bucket}) for bucket in buckets]
    for shorter, longer in itertools.pairwise(ranges):
        assert shorter[-1] < longer[0]
    if groups > 1:
        assert min(map(len, buckets)) >= 20


@pytest.fixture
def translator() -> tuple[list[list[str]], Callable[[list[str]], list[str]]]:
    """The batches a translator was given, and the translator, which takes 2 ms a batch."""
    batches: list[list[str]] = []

    def translate(lines: list[str]) -> list[str]:
        batches.append(lines)
        time.sleep(0.002)
        return lines

    return batches, translate


def test_decoding_is_timed_on_every_line_in_full_batches(translator: Any) -> None:
    batches, translate = translator
    lines = [Line("x" * number) for number in range(1, 11)]
    speed = decoding_speed(translate, lines, 4)
    assert {len(batch) for batch in batches} == {4}
    assert {line for batch in batches[1:] for line in batch} == set(lines)
    assert all(len(batch[-1].text) - len(batch[0].text) <= 4 for batch in batches)
    assert len(batches) == 1 + 3
    assert 0 < speed <= 4 / 0.002
    assert decoding_speed(translate, [Line("x")], 64) > 0
    assert [len(batch) for batch in batches[4:]] == [64] * 4


def test_decoding_is_timed_for_a_limited_time(
    translator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches, translate = translator
    monkeypatch.setattr(measuring, "TIMING_MAX_SECONDS", 0.05)
    speed = decoding_speed(translate, [Line("x")] * 1000, 1)
    assert 1 + 3 <= len(batches) <= 1 + 26
    assert speed <= 500
    monkeypatch.setattr(measuring, "TIMING_MAX_SECONDS", 0.0)
    del batches[:]
    decoding_speed(translate, [Line("x")] * 1000, 1)
    assert len(batches) == 1 + 3


def a_row(value: float, **more: Any) -> Measurement:
    buckets = (Bucket(1, 4, 20, Estimate(value, 2.0)), Bucket(5, 5, 20, Estimate(value / 2, None)))
    facts: dict[str, Any] = {
        **{"fingerprint": "", "checkpoint": 1, "parameters": 1, "tokenizer": "word 9"},
        **{"steps": 1, "minutes": None, "tokens_per_second": None, "perplexity": 1e304},
        **{
            "word_perplexity": 2.0,
            "metric": "BLEU",
            "greedy": Estimate(value, None),
            "beam": Estimate(value, 1.0),
        },
        **{"by_length": buckets, "signature": "a|b", "speed_single": 1.0, "speed_batched": 2.0},
    }
    return Measurement(**{**facts, **more})


def test_text_of_the_user_stays_text(tmp_path: Path) -> None:
    wicked = "</li><script>alert(1)</script> | `x` [a](b)"
    variant = Variant("a", "tiny", (f"model.kind={wicked}",))
    write_report(tmp_path, [VariantResult(variant, a_row(10.0, tokenizer=wicked))], [wicked])
    page = Page((tmp_path / "ladder.html").read_text())
    assert "script" not in page.seen
    assert "".join(page.texts).count(wicked) == 3
    text = (tmp_path / "ladder.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(cells(lines[0])) == len(cells(lines[2]))
    assert text.count("<script>") == text.count(r"\<script>") == 3
    assert text.count("`") == text.count(r"\`")
    assert r"\[a](b)" in text


def test_a_ladder_of_nothing_but_problems_is_told_too(tmp_path: Path) -> None:
    wicked = "</td><script>alert(1)</script> | `x`\nlower it."
    results = [VariantResult(Variant(name, "tiny"), None, wicked) for name in "ab"]
    write_report(tmp_path, results, [])
    page = Page((tmp_path / "ladder.html").read_text())
    assert page.seen.count("table") == page.seen.count("svg") == 1
    assert "script" not in page.seen
    assert "".join(page.texts).count(wicked) == 2
    text = (tmp_path / "ladder.md").read_text()
    lines = [cells(line) for line in text.splitlines() if line.startswith("|")]
    assert [line[0] for line in lines] == ["variant", "---", "a", "b"]
    assert len({len(line) for line in lines}) == 1
    assert text.count("<script>") == text.count(r"\<script>") == 2


def test_tables_and_figures_say_the_metric(tmp_path: Path) -> None:
    results = [VariantResult(Variant("a", "tiny"), a_row(10.0, metric="exact"))]
    write_report(tmp_path, results, [])
    for name in ("ladder.md", "ladder.html", "ladder.svg"):
        text = (tmp_path / name).read_text()
        assert "exact (beam 5) by number of source words" in text
        assert "BLEU" not in text
    assert "| exact greedy | exact beam 5 |" in (tmp_path / "ladder.md").read_text()
    assert r"exact: a\|b" in (tmp_path / "ladder.md").read_text()
