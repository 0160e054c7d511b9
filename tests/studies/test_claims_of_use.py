"""Measurements of how models are used respond to what they measure."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from regard.config import override
from regard.corpora import grammar
from regard.data.batch import Batch, Padded, Row
from regard.data.tokenizer import Words
from regard.models.base import EncoderDecoder
from regard.nn.mixers import MixerSizes
from regard.recipes import find_recipe
from regard.search.beam import Beam
from regard.studies import additive_self_attention, bleu, channel, context, memory, quadratic_cost
from regard.studies import subwords as words
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory
from regard.studies.tagging_task import TaggingTask, tags
from regard.studies.vanishing import set_forget_gates


def test_a_window_as_wide_as_the_line_is_quadratic_again() -> None:
    def growth(nearby: int) -> float:
        sizes = MixerSizes(neighbourhood=nearby)
        few, many = (quadratic_cost.operations("window", n, sizes) for n in (256, 512))
        return many / few

    assert growth(8) < 2.2
    assert growth(1024) > 2.6


def test_where_costs_cross() -> None:
    full, linear = {1: 1.0, 4: 16.0}, {1: 2.0, 4: 8.0}
    assert quadratic_cost.crossing(full, linear) == pytest.approx(2.0)
    assert quadratic_cost.crossing(linear, {1: 3.0, 4: 9.0}) is None


def test_bleu_is_deceived_only_by_sentences_that_are_nearer_to_the_reference() -> None:
    given = list(bleu.cases(60, 1))
    assert sum(bleu.judge(bleu.METRICS[0], given, 1).deceived) > 60 * len(given)
    same = [bleu.Case(each.reference, (each.reference,), each.wrong) for each in given]
    assert sum(bleu.judge(bleu.METRICS[0], same, 1).deceived) == 0


def test_ranks_that_agree_correlate_whatever_the_numbers() -> None:
    points = [(float(n), float(n**3)) for n in range(12)]
    assert bleu.rank_correlation(points).low > 0.99
    mixed = bleu.rank_correlation([(a, -b if a % 2 else b) for a, b in points])
    assert mixed.value < 0.5
    assert mixed.low < 0.2
    assert bleu.rank_correlation([(1.0, 2.0), (1.0, 3.0)]).value == 0


def test_meanings_are_told_apart_only_if_vectors_differ_by_meaning() -> None:
    torch.manual_seed(1)
    meanings = torch.arange(3).repeat_interleave(20)
    noise = torch.randn(60, 8)
    apart = noise + 20 * torch.nn.functional.one_hot(meanings, 8)
    assert context.told_apart(apart, meanings) == 100
    assert context.told_apart(noise, meanings) < 60
    assert context.told_apart(torch.ones(60, 8), meanings) == pytest.approx(100 / 3)


def test_the_product_needs_both_factors() -> None:
    given = channel.Candidates(("a", "b", "c"), (-1, -2, -3), (-1, -9, -2), (-9, -1, -2))
    best = {name: given.best(*weights) for name, weights in channel.WEIGHTS.items()}
    assert best["P(x | y) alone"] == best["P(y | x)"] == "a"
    assert best["P(y) alone"] == "b"
    assert best["P(x | y) P(y)"] == "c"


def test_memory_is_as_long_as_what_is_copied() -> None:
    assert memory.remembered(["a b c"], ["a b d"]) == pytest.approx(200 / 3)
    assert memory.span([(3, 99.0), (6, 91.0), (9, 20.0), (12, 95.0)]) == 6


def test_with_closed_forget_gates_an_lstm_copies_hardly_anything() -> None:
    """It has learned to copy three symbols: closed, only the input of the last step is left."""
    recipe, settings = memory.FAMILIES["LSTM"]
    config = override(find_recipe(recipe), [*memory.COMMON, *settings, "model.width=32"])
    first, size = 4, 4 + len(memory.SYMBOLS)
    torch.manual_seed(1)
    model = config.model.build(size, size)
    assert isinstance(model, EncoderDecoder)

    def rows(lines: list[str]) -> Padded:
        ids = [[first + memory.SYMBOLS.index(each) for each in line.split()] for line in lines]
        return Padded.of_rows(list(map(Row, ids)))

    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(150):
        given = rows(memory.lines(64, 3, 3, f"train {step}"))
        loss = model(Batch(given, given))
        optimizer.zero_grad()
        (loss.total / loss.tokens).backward()
        optimizer.step()

    def copied() -> float:
        lines = memory.lines(50, 3, 3, "test")
        found = model.eval().generate(rows(lines), Beam(beam=1))
        outputs = [
            " ".join(memory.SYMBOLS[token - first] for token in each[0].tokens if token >= first)
            for each in found
        ]
        return memory.remembered(outputs, lines)

    assert copied() > memory.LEVEL
    set_forget_gates(model, -10.0)
    assert copied() < 40


def test_tags_say_on_which_side_the_head_is(tmp_path: Path) -> None:
    links = ((0, 0), (1, 1), (2, 2))
    example = grammar.Example("a b c", "x y z", links, (2, 0, 2), None)
    assert tags(example) == ["after", "root", "before"]
    right: dict[str, str] = {}

    class Answers(Laboratory):
        def trained(self, *given: object) -> None:  # type: ignore[override]
            return None

        def predictor(self, run: object, beam: int = 1) -> object:  # type: ignore[override]
            return lambda lines: [right[line] for line in lines]

    task = TaggingTask(Answers(tmp_path, quick=True, seeds=(1,)))
    pairs = [line.split("\t") for line in task.files["test"].read_text().splitlines()]
    right.update((source, target) for source, target in pairs)
    assert task.accuracies([]) == [100]
    right.update((source, " ".join("?" for _ in target.split())) for source, target in pairs)
    assert task.accuracies([]) == [0]


def test_only_sentences_that_are_the_reference_are_exact(tmp_path: Path) -> None:
    class Answers(Laboratory):
        def predictor(self, run: object, beam: int = 1) -> object:  # type: ignore[override]
            return lambda sources: [each.target for each in task.test[:15]] + ["?"] * 15

    task = GrammarTask(Answers(tmp_path, quick=True, seeds=(1,)))
    assert task.score(None) == 50  # type: ignore[arg-type]


def test_unknown_words_are_those_that_a_vocabulary_lacks() -> None:
    run = SimpleNamespace(tokenizers=lambda: SimpleNamespace(target=Words(["ein", "Hund"])))
    found = words.unknown_words(run, ["ein Hund bellt", "ein Hund"])  # type: ignore[arg-type]
    assert found == [{"bellt"}, set()]


def test_recall_counts_the_wanted_words_only() -> None:
    assert words.recall(["ein Hund", "eine Katze"], [{"Hund"}, {"Maus"}]) == 50


def test_only_the_additive_score_keeps_a_vector_per_pair() -> None:
    def growth(kind: str) -> float:
        return additive_self_attention.largest(kind, 64) / 64**2

    assert growth("additive") == additive_self_attention.WIDTH
    assert growth("scaled dot") <= 2
