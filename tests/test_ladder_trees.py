"""Variants that read dependency trees beside variants that do not, on the same pairs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy import SMALL, at_step, crash, parallel, write_lines

import regard
from regard.cli import main
from regard.corpora import grammar
from regard.data.line import Line
from regard.errors import UsageError
from regard.ladders import ladder as laddering
from regard.ladders import measure as measuring
from regard.ladders.report import VariantResult
from regard.metrics.text import TextMetrics
from regard.predict import Predictor
from regard.runs.folder import Run
from regard.search.beam import Beam
from regard.terminal import Count, uncounted

pytestmark = pytest.mark.usefixtures("short_timings")

QUICK = TextMetrics(bootstrap=50)
VARIANTS = ["tiny", "trees=tiny:model.position=syntax"]
SOME = (*SMALL, "training.optimizer.rate=0.03")

Trees = dict[str, tuple[int, ...]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grammar")
    corpus = grammar.generate(200)
    grammar.write(replace(corpus, valid=corpus.valid[:20], test=corpus.test[:50]), folder)
    return folder


def files(folder: Path, *parts: str) -> dict[str, Path]:
    """Those of some parts, as `regard.ladder` takes them."""
    kinds = {"source": "en", "target": "de", "trees": "trees"}
    prefixes = {"train": "", "valid": "valid_", "test": "test_"}
    return {
        f"{prefixes[part]}{name}": folder / f"{part}.{ending}"
        for part in parts
        for name, ending in kinds.items()
    }


def ladder(
    output: Path, given: dict[str, Path], variants: list[str] = VARIANTS, **more: Any
) -> list[VariantResult]:
    chosen = {"steps": 10, "settings": SOME, "metrics": QUICK, "quiet": True, **more}
    return regard.ladder(
        variants, output=output, say=lambda text: None, **parallel({**given, **chosen})
    )


class Watched(Predictor):
    """Keeps the lines that it is given, with their trees."""

    seen: list[Line]

    def predict(self, lines: Any, *others: Any, count: Count = uncounted) -> Any:
        self.seen += lines
        return super().predict(lines, *others, count=count)

    def score(self, pairs: Any) -> Any:
        pairs = list(pairs)
        self.seen += [source for source, _ in pairs]
        return super().score(pairs)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> type[Watched]:
    Watched.seen = []
    monkeypatch.setattr(measuring, "Predictor", Watched)
    return Watched


def trees(folder: Path, part: str) -> Trees:
    sources, heads = (
        (folder / f"{part}.{ending}").read_text().splitlines() for ending in ("en", "trees")
    )
    numbers = (tuple(map(int, line.split())) for line in heads)
    return dict(zip(sources, numbers, strict=True))


def must_be_in_step(seen: list[Line], right: Trees, lines: int) -> None:
    """Every line was read without a tree by the first variant and with its own by the second."""
    assert len({line.text for line in seen}) == lines
    assert all(line.tree is None or tuple(line.tree) == right[line.text] for line in seen)
    assert sum(line.tree is None for line in seen) >= 4 * lines
    assert sum(line.tree is not None for line in seen) >= 4 * lines  # two searches, scores, timing


def must_be_of_evaluate(output: Path, given: dict[str, Path]) -> None:
    """The numbers of both variants are those of `evaluate`, with heads for the second alone."""
    plain, syntax = json.loads((output / "ladder.json").read_text())["variants"]
    without = {name: path for name, path in given.items() if name != "trees"}
    for row, of in ((plain, without), (syntax, given)):
        for name, beam in (("greedy", 1), ("beam", 5)):
            found = regard.evaluate(
                output / row["name"],
                search=Beam(beam=beam),
                metrics=QUICK,
                say=lambda text: None,
                **parallel(of),
            )
            assert row[name]["value"] == found.scores[0].value
            assert row["perplexity"] == pytest.approx(found["perplexity"])
        assert row["speed_single"] > 0


def must_be_trained_on_the_same(output: Path) -> None:
    plain, syntax = (Run.open(output / name) for name in ("tiny", "trees"))
    assert not plain.store("train").annotations
    assert syntax.store("train").annotations.keys() == {"tree"}
    for part in ("train", "valid"):
        targets = [run.store(part).target for run in (plain, syntax)]
        assert np.array_equal(targets[0].values, targets[1].values)
        assert np.array_equal(targets[0].offsets, targets[1].offsets)
    texts = [[pair.texts for pair in run.validation_pairs()] for run in (plain, syntax)]
    assert texts[0] == texts[1]


def test_on_test_files(
    tmp_path: Path, folder: Path, watched: type[Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = files(folder, "train", "valid", "test")
    out = tmp_path / "out"
    ladder(out, given)
    must_be_in_step(watched.seen, trees(folder, "test"), 50)
    must_be_trained_on_the_same(out)
    test = {name.removeprefix("test_"): path for name, path in files(folder, "test").items()}
    must_be_of_evaluate(out, test)
    assert (
        "Given the dependency trees of the sources too: trees." in (out / "ladder.md").read_text()
    )

    measured: list[str] = []

    def note(run: Run, *arguments: Any) -> Any:
        measured.append(run.path.name)
        return measuring.measure(run, *arguments)

    monkeypatch.setattr(laddering, "measure", note)
    with at_step(1, crash):
        before = ladder(out, given)
        assert measured == []
        lines = given["test_trees"].read_text().splitlines()
        other = (" ".join("0" for _ in line.split()) for line in lines)
        flat = write_lines(tmp_path / "flat.trees", other)
        after = ladder(out, {**given, "test_trees": flat})
    assert measured == ["trees"]  # other trees are nothing to the variant that reads none
    assert before[0] == after[0]
    perplexities = [
        result.measured.perplexity for result in (before[1], after[1]) if result.measured
    ]
    assert perplexities[0] != pytest.approx(perplexities[1], rel=1e-6)


def test_on_validation_files_by_command(
    tmp_path: Path, folder: Path, watched: type[Watched], capsys: pytest.CaptureFixture[str]
) -> None:
    given = files(folder, "train", "valid")
    options = [f"--{name.replace('_', '-')}={path}" for name, path in given.items()]
    settings = [f"--set={setting}" for setting in SOME]
    out = tmp_path / "out"
    rest = [f"--output={out}", "--steps=2", "--quiet"]
    assert main(["ladder", *VARIANTS, *options, *settings, *rest]) == 0, capsys.readouterr().err
    must_be_in_step(watched.seen, trees(folder, "valid"), 20)
    must_be_of_evaluate(out, {})


def test_on_pairs_held_out_by_a_variant_that_reads_no_trees(
    tmp_path: Path, folder: Path, watched: type[Watched]
) -> None:
    ladder(tmp_path / "out", files(folder, "train"), steps=2)
    must_be_in_step(watched.seen, trees(folder, "train"), 10)
    must_be_trained_on_the_same(tmp_path / "out")
    must_be_of_evaluate(tmp_path / "out", {})


def test_variants_that_read_no_trees_ignore_them(tmp_path: Path, folder: Path) -> None:
    given = files(folder, "train", "valid", "test")
    (result,) = ladder(tmp_path / "out", given, ["tiny"], steps=1)
    without = {name: path for name, path in given.items() if not name.endswith("trees")}
    with at_step(1, crash):
        assert ladder(tmp_path / "out", without, ["tiny"], steps=1) == [result]
    assert "dependency trees" not in (tmp_path / "out" / "ladder.md").read_text()


MISSING = {
    "all": (("trees", "valid_trees", "test_trees"), "--trees and "),
    "training": (("trees",), r"give --trees\."),
    "validation": (("valid_trees",), r"give --valid-trees\."),
    "test": (("test_trees",), r"give --test-trees\."),
    "a test source": (("test_source",), "--test-source and --test-target"),
}


@pytest.mark.parametrize("name", MISSING)
def test_without_trees_nothing_is_trained(name: str, tmp_path: Path, folder: Path) -> None:
    left_out, sentence = MISSING[name]
    given = files(folder, "train", "valid", "test")
    with at_step(1, crash), pytest.raises(UsageError, match=sentence) as refused:
        ladder(tmp_path / "out", {n: path for n, path in given.items() if n not in left_out})
    assert name == "a test source" or str(refused.value).startswith("trees reads the dependency")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_a_bad_tree_is_found_before_anything_is_trained(
    part: str, tmp_path: Path, folder: Path
) -> None:
    (name,) = (n for n in files(folder, part) if n.endswith("trees"))
    lines = (folder / f"{part}.trees").read_text().splitlines()
    bad = write_lines(tmp_path / "bad", [*lines[:4], "9 9", *lines[5:]])
    for parts in (("train", "valid", "test"), tuple({"train", part})):
        with at_step(1, crash), pytest.raises(UsageError, match="bad:5 "):
            ladder(tmp_path / "out", {**files(folder, *parts), name: bad})
    assert not (tmp_path / "out").exists()
