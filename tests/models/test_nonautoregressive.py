"""Fertilities, what is made of them, and a run of a model that writes all words at once."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Optional

import numpy as np
import pytest
import torch
from torch import Tensor
from toy import some_lines, write_lines

import regard
from regard.cli import main
from regard.data.annotations import UNKNOWN_FERTILITY, Fertility
from regard.data.batch import EOS, Batch, Padded
from regard.data.line import Line
from regard.data.links import source_words
from regard.errors import UsageError
from regard.models.example import EXAMPLE_SIZES
from regard.models.fertilities import best_fertilities, copied_positions
from regard.models.nonautoregressive import NonAutoregressive, NonAutoregressiveConfig
from regard.models.weights import collect
from regard.nn.mixers.context import FullSequence
from regard.runs.folder import Run
from regard.runs.load import build_model, load_model
from regard.search.beam import Beam
from regard.search.sample import Sample

MINIATURE = NonAutoregressiveConfig.miniatures()[0]


def brute_force(logs: Tensor, pieces: int, total: int) -> float:
    """The best log p of all fertilities of a row (S, C) with this sum."""
    classes = range(logs.shape[1])
    return max(
        sum(float(logs[s, k]) for s, k in enumerate(each))
        for each in product(classes, repeat=pieces)
        if sum(each) == total
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_best_fertilities_are_those_of_brute_force(seed: int) -> None:
    torch.manual_seed(seed)
    logs = torch.randn(6, 5, 4).mul(2).log_softmax(dim=-1)
    pieces = torch.tensor([5, 4, 3, 2, 1, 5])
    totals = torch.tensor([7, 0, 9, 3, 2, 15])
    found = best_fertilities(logs, pieces, totals)
    assert torch.equal(found.sum(dim=1), totals)
    for row, (count, total) in enumerate(zip(pieces.tolist(), totals.tolist(), strict=True)):
        assert not found[row, count:].any()
        value = sum(float(logs[row, s, k]) for s, k in enumerate(found[row, :count].tolist()))
        assert value == pytest.approx(brute_force(logs[row], count, total), abs=1e-5)


def test_copies_follow_the_fertilities() -> None:
    fertilities = torch.tensor([[2, 0, 1, 1], [0, 3, 1, 0]])
    found = copied_positions(fertilities, 6)
    assert found.tolist() == [[0, 0, 2, 3, 3, 3], [1, 1, 1, 2, 3, 3]]


@pytest.mark.parametrize(
    ("links", "sources", "targets", "expected"),
    [
        ([(0, 1), (1, 0)], 2, 2, [1, 0]),
        ([(0, 0), (3, 0), (1, 1)], 4, 2, [0, 1]),  # of several, the nearest to the diagonal
        ([(0, 1), (3, 1), (2, 0)], 4, 2, [2, 3]),
        ([(2, 1)], 3, 4, [2, 2, 2, 2]),  # of none, that of the nearest with links
        ([(1, 0), (0, 4)], 2, 5, [1, 1, 1, 0, 0]),
        ([], 2, 4, [0, 0, 1, 1]),  # no links at all: the diagonal
        ([], 4, 2, [0, 2]),
    ],
)
def test_each_target_word_has_one_source_word(
    links: list[tuple[int, int]], sources: int, targets: int, expected: list[int]
) -> None:
    assert source_words(links, sources, targets) == expected


def test_fertilities_add_up_to_the_target_however_words_are_segmented() -> None:
    draws = np.random.default_rng(2)
    for _ in range(200):
        words, target = (
            [list(range(draws.integers(1, 5))) for _ in range(draws.integers(1, 6))]
            for _ in range(2)
        )
        links = {
            (int(draws.integers(len(words))), int(draws.integers(len(target))))
            for _ in range(draws.integers(0, 7))
        }
        line = Line("", links=tuple(links))
        found = Fertility().of_pair(line, words, target)
        assert len(found) == sum(map(len, words))
        assert found.sum() == sum(map(len, target))
    unknown = Fertility().of_pair(Line(""), words, target)
    assert (unknown == UNKNOWN_FERTILITY).all()


def test_pieces_are_spread_over_those_of_the_linked_word() -> None:
    line = Line("", links=((0, 0), (1, 1)))
    found = Fertility().of_pair(line, [[7], [8, 9]], [[4], [5, 6, 7]])
    assert found.tolist() == [1, 2, 1]
    assert Fertility().of_pair(line, [[7], [8, 9]], [[4, 5, 6], [7]]).tolist() == [3, 1, 0]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("0-0 1:1", "has '1:1' among the links"),
        ("0-0 2-1", "links source word 2, but there are 2"),
        ("0--1", "among the links"),
    ],
)
def test_wrong_links_are_refused(text: str, named: str) -> None:
    with pytest.raises(UsageError, match=f"^links:3 .*{named}"):
        Fertility().read(Line("two words"), text, "links:3")
    line = Fertility().read(Line("two words"), "0-0 1-2", "links:3")
    assert line.links == ((0, 0), (1, 2))
    assert Fertility().write(line) == "0-0 1-2"
    with pytest.raises(UsageError, match="target:3 links target word 2, but there are 2"):
        Fertility().check_pair(line, Line("zwei Wörter"), "target:3")


def test_a_blind_position_sees_all_others_or_itself_if_alone() -> None:
    real = torch.tensor([[True, True, True], [True, False, False]])
    mask = FullSequence(real, blind=True).mask
    inf = math.inf
    assert mask[0, 0].tolist() == [[-inf, 0, 0], [0, -inf, 0], [0, 0, -inf]]
    assert mask[1, 0, 0].tolist() == [0, -inf, -inf]
    assert not mask.softmax(dim=-1)[:, :, 0].isnan().any()


@pytest.fixture
def model() -> NonAutoregressive:
    torch.manual_seed(0)
    return MINIATURE.build(*EXAMPLE_SIZES).eval()


@torch.no_grad()
def test_unknown_fertilities_are_the_most_probable(model: NonAutoregressive) -> None:
    batch = MINIATURE.example(rows=3, seed=1)
    given = model.log_probabilities(batch)
    unknown = Batch(replace(batch.source, annotations={}), batch.target)
    ends = torch.arange(3), batch.target.lengths - 1
    found = model.log_probabilities(unknown)
    assert bool((found[ends] >= given[ends]).all())
    assert bool((found[ends] > given[ends]).any())  # those given are arbitrary
    _, logs = model._read(batch.source)
    for row in range(3):
        pieces, total = int(batch.source.lengths[row]) - 1, int(batch.target.lengths[row]) - 1
        best = brute_force(logs[row, :, : total + 1], pieces, total)
        assert float(found[ends][row]) == pytest.approx(best, abs=1e-4)
    impossible = batch.source.annotations[Fertility.name] + 1
    wrong = Batch(replace(batch.source, annotations={Fertility.name: impossible}), batch.target)
    torch.testing.assert_close(model.log_probabilities(wrong), found)


@torch.no_grad()
def test_any_target_has_a_probability(model: NonAutoregressive) -> None:
    """One that is empty, and one that is longer than all fertilities allow."""
    source = Padded.of([[5, EOS], [5, EOS]])
    batch = Batch(source, Padded.of([[EOS], [*range(4, 4 + 12), EOS]]))
    found = model.log_probabilities(batch)
    assert bool(found.isfinite().all())
    assert found[0, 1:].tolist() == [0.0] * 12
    assert len(model(batch).nll) == 14


@torch.no_grad()
def test_more_candidates_are_never_less_probable(model: NonAutoregressive) -> None:
    source = MINIATURE.example(rows=8, seed=4).source
    single = model.generate(source, Beam(beam=1, length_penalty=0))
    several = model.generate(source, Beam(beam=12, best=12, length_penalty=0))
    for (alone,), found in zip(single, several, strict=True):
        assert found[0].log_probability >= alone.log_probability - 1e-4
        assert alone.tokens in [each.tokens for each in found]
    assert any(len({each.tokens for each in found}) > 3 for found in several)
    assert all(each[0].tokens for each in single)
    quick = model.generate(source, Beam(beam=1).quick())
    assert [each[0].tokens for each in quick] == [each[0].tokens for each in single]


@torch.no_grad()
def test_repeats_are_removed_where_that_is_asked(model: NonAutoregressive) -> None:
    source = MINIATURE.example(rows=30, seed=4).source

    def repeats() -> int:
        found = [each[0].tokens for each in model.generate(source, Beam(beam=1))]
        return sum(a == b for row in found for a, b in pairwise(row))

    assert repeats() > 0
    model.remove_repeats = True
    assert repeats() == 0
    assert MINIATURE.changed(remove_repeats=True).signature == "repeats:removed"


def test_a_prefix_and_sampling_are_refused(model: NonAutoregressive) -> None:
    source = Padded.of([[5, EOS]])
    with pytest.raises(UsageError, match="cannot continue a prefix"):
        model.generate(source, Beam(), Padded.of([[4]]))
    with pytest.raises(UsageError, match="cannot sample"):
        model.generate(source, Sample())


SETTINGS = (
    "tokenizer.kind=word",
    "batch.tokens=512",
    "model.layers=1",
    "model.width=32",
    "model.inner=64",
    "model.heads=2",
    "model.dropout=0",
    "model.token_dropout=0",
    "model.remove_repeats=false",
    "training.optimizer.rate=0.01",
    "training.optimizer.warmup=20",
    "training.validate_every=100",
)


def written(line: str) -> tuple[str, str]:
    """A gnu is two words of the target and a hen none; and the links."""
    words, links = [], []
    for index, word in enumerate(line.split()):
        copies = {"gnu": ["GNU", "OX"], "hen": []}.get(word, [word.upper()])
        links += [f"{index}-{len(words) + extra}" for extra in range(len(copies))]
        words += copies
    return " ".join(words), " ".join(links)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of pairs with their links, and a run that has learned from them."""
    folder = tmp_path_factory.mktemp("nonautoregressive")
    for part, count, seed in (("train", 400, 1), ("valid", 20, 2), ("test", 30, 3)):
        lines = [line for line in some_lines(count, seed) if written(line)[0]]
        write_lines(folder / f"{part}.source", lines)
        write_lines(folder / f"{part}.target", (written(line)[0] for line in lines))
        write_lines(folder / f"{part}.links", (written(line)[1] for line in lines))
    regard.train(
        "nonautoregressive",
        data(folder, "train", "links"),
        run=folder / "run",
        valid=data(folder, "valid"),
        steps=100,
        settings=SETTINGS,
        quiet=True,
    )
    return folder


def data(folder: Path, part: str, links: Optional[str] = None) -> regard.Parallel:
    files = (folder / f"{part}.{side}" for side in ("source", "target"))
    return regard.Parallel(*files, alignments=links and folder / f"{part}.{links}")


def test_a_run_learns_from_links_and_needs_none_afterwards(folder: Path) -> None:
    test = data(folder, "test")
    found = regard.evaluate(folder / "run", test)
    assert found["exact"] > 90
    assert found["perplexity"] < 1.5
    assert "repeats" not in found.scores[0].signature
    assert [count for _, count in regard.score(folder / "run", test)] == [
        len(line.split()) + 1 for line in (folder / "test.target").read_text().splitlines()
    ]
    rows = regard.compare([folder / "run", folder / "run"], test, search=Beam(beam=4))
    assert rows[0].value == rows[1].value


def test_removed_repeats_are_named_in_the_signature(folder: Path, tmp_path: Path) -> None:
    regard.train(
        "nonautoregressive",
        data(folder, "train", "links"),
        run=tmp_path / "run",
        valid=data(folder, "valid"),
        steps=3,
        settings=[*SETTINGS, "model.remove_repeats=true"],
        quiet=True,
    )
    found = regard.evaluate(tmp_path / "run")
    assert found.scores[0].signature.endswith("|repeats:removed")
    words = [line.split() for line in found.outputs]
    assert not any(a == b for line in words for a, b in pairwise(line))


def test_a_teacher_chooses_among_fertilities(folder: Path) -> None:
    judges = ["own=0", f"pair={folder / 'run'}:1"]
    found = regard.evaluate(folder / "run", search=Beam(beam=6), judges=judges)
    own = regard.evaluate(folder / "run", search=Beam(beam=6))
    assert found["BLEU"] == pytest.approx(own["BLEU"], abs=5)  # its own teacher
    assert "judges:own*0+pair*1" in found.scores[0].signature


def test_a_look_shows_the_fertilities(folder: Path) -> None:
    look = regard.look(regard.load(folder / "run"), "ant gnu hen")
    assert look.translation == "ANT GNU OX"
    assert look.source_values == {"fertility": (1, 2, 0, 1)}
    assert look.layers.kinds.keys() == {"cross", "encoder", "target-target"}
    assert "gnu ×2" in look.html().replace("\\u00d7", "×")


def test_commands_work_without_links(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, files = str(folder / "run"), ["--source", str(folder / "test.source")]
    both = [*files, "--target", str(folder / "test.target")]
    lines = len((folder / "test.source").read_text().splitlines())
    assert main(["align", run, *both, "--output", str(tmp_path / "align")]) == 0
    assert len((tmp_path / "align").read_text().splitlines()) == lines
    assert main(["translate", run, "--input", str(folder / "test.source"), "--best", "3"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert list(dict.fromkeys(row[0] for row in rows)) == [str(line) for line in range(lines)]
    assert len({(number, text) for number, _, text in rows}) == len(rows) <= 3 * lines
    assert main(["watch", run, "--output", str(tmp_path / "watch.html")]) == 0
    assert main(["evaluate", run, *both, "--int8", "--beam", "2"]) == 0
    assert "BLEU" in capsys.readouterr().out
    shortlist = ["translate", run, "--input", str(folder / "test.source"), "--shortlist", "5"]
    assert main(shortlist) == 2
    assert "remove --shortlist" in capsys.readouterr().err
    assert not (folder / "run" / "likely.npy").exists()  # refused before anything is learned
    prefix = ["--prefix", str(folder / "test.target")]
    assert main(["translate", run, "--input", str(folder / "test.source"), *prefix]) == 2
    assert "cannot continue a prefix" in capsys.readouterr().err


def test_links_are_needed_for_training_and_checked(folder: Path, tmp_path: Path) -> None:
    given = data(folder, "train")
    with pytest.raises(UsageError, match="word alignment of each training pair: give --align"):
        regard.train("nonautoregressive", given, run=tmp_path / "run", steps=1, quiet=True)
    lines = (folder / "train.links").read_text().splitlines()
    for wrong, named in (("0-9", "train.target:5 links target word 9"), ("9-0", "links:5 links")):
        links = write_lines(tmp_path / "links", [*lines[:4], wrong, *lines[5:]])
        given = replace(given, alignments=links)
        with pytest.raises(UsageError, match=named):
            regard.train("nonautoregressive", given, run=tmp_path / "run", steps=1, quiet=True)
    with pytest.raises(UsageError, match="does not read the word alignment"):
        regard.train("tiny", given, run=tmp_path / "run", steps=1, quiet=True)
    assert not Run.exists(tmp_path / "run")


def test_it_climbs_a_ladder_with_variants_that_read_no_links(
    folder: Path, tmp_path: Path, short_timings: None
) -> None:
    small = [each for each in SETTINGS if "token_dropout" not in each and "repeats" not in each]
    results = regard.ladder(
        ["tiny", "nonautoregressive"],
        data(folder, "train", "links"),
        output=tmp_path / "ladder",
        test=data(folder, "test"),
        steps=2,
        settings=small,
        quiet=True,
    )
    assert [result.variant.name for result in results] == ["tiny", "nonautoregressive"]
    assert all(result.measured is not None for result in results)
    with pytest.raises(UsageError, match="nonautoregressive reads the word alignment"):
        regard.ladder(
            ["tiny", "nonautoregressive"], data(folder, "train"), output=tmp_path / "b", steps=2
        )


def test_the_encoder_of_a_transformer_fits(folder: Path, tmp_path: Path) -> None:
    """Of the recipe that teachers are trained by, with the same sizes."""
    sizes = [each for each in SETTINGS if "repeats" not in each]
    regard.train(
        "multi30k",
        data(folder, "train"),
        run=tmp_path / "teacher",
        steps=2,
        settings=sizes,
        quiet=True,
    )
    student = regard.train(
        "nonautoregressive",
        data(folder, "train", "links"),
        run=tmp_path / "student",
        start=f"{tmp_path / 'teacher'}:encoder",
        steps=1,
        settings=SETTINGS[1:],
        quiet=True,
    )
    teacher = collect(load_model(Run.open(tmp_path / "teacher"))[0])
    begun = collect(build_model(student))
    encoder = [name for name in begun if name.startswith("encoder.")]
    assert len(encoder) > 5
    assert all(torch.equal(begun[name], teacher[name]) for name in encoder)
