"""Models that write in one pass: exact n-best lists, sentences regrouped, memory left alone."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from regard.data.annotation import whole
from regard.data.batch import UNKNOWN, Batch, Padded, Row
from regard.data.encoding import LineEncoder
from regard.data.line import Line
from regard.data.tokenizer import Words
from regard.errors import UsageError
from regard.models.entity import EntityConfig
from regard.models.hierarchical import HierarchicalConfig, SentenceLayout
from regard.models.labelling import TaggerConfig
from regard.nn.captured import by_sentence, watch
from regard.nn.pooling import EvenMean, LearnedMean, average_groups
from regard.search.beam import Beam
from regard.search.sample import Sample

TAGGER = TaggerConfig(cell="gru", layers=1, width=8, dropout=0.0)


def sentences(*lengths: int) -> Row:
    """A line of sentences of these lengths, with ids that count up from 4."""
    index = [number for number, length in enumerate(lengths) for _ in range(length)]
    return Row(list(range(4, 4 + len(index))), {"sentences": whole(index)})


@torch.no_grad()
def test_the_n_best_tags_are_those_of_all_combinations() -> None:
    torch.manual_seed(1)
    model = TAGGER.build(12, 8).eval()
    model.output.weight[: UNKNOWN + 1] *= 30  # what is reserved must not be written, ever so likely
    source = Padded.of_rows([Row([5, 6, 7, 8], {"words": whole([0, 0, 1, 2])})])
    (found,) = model.generate(source, Beam(beam=9, best=9))
    logs, _ = model._logs(source)
    every = sorted(
        ((sum(logs[0, t, tag].item() for t, tag in enumerate(tags)), tags))
        for tags in product(range(UNKNOWN + 1, 8), repeat=3)
    )[::-1]
    assert [each.tokens for each in found] == [tags for _, tags in every[:9]]
    assert found[0].log_probability == pytest.approx(every[0][0], abs=1e-5)


def test_sampling_and_prefixes_are_refused_in_a_sentence() -> None:
    model, batch = TAGGER.build(23, 19).eval(), TAGGER.example(2, 1)
    with pytest.raises(UsageError, match="writes its tags at once and cannot sample"):
        model.generate(batch.source, Sample())
    with pytest.raises(UsageError, match="cannot continue a prefix"):
        model.generate(batch.source, Beam(), Padded.of([[5], [6]]))


def test_sentences_are_regrouped_and_put_back() -> None:
    source = Padded.of_rows([sentences(2, 1), sentences(3), sentences(1, 1, 2)])
    layout = SentenceLayout.of(source)
    split = [[4, 5, 0], [6, 0, 0], [4, 5, 6], [4, 0, 0], [5, 0, 0], [6, 7, 0]]
    assert layout.split(source.values).tolist() == split
    assert layout.real.tolist() == [[id > 0 for id in row] for row in split]
    joined, mask = layout.join(torch.arange(1.0, 7)[:, None])
    assert joined[:, :, 0].tolist() == [[1, 2, 0], [3, 0, 0], [4, 5, 6]]
    assert mask.tolist() == [[True, True, False], [True, False, False], [True, True, True]]
    weights = torch.tensor(split) / 10
    spread = layout.spread(weights)
    assert torch.allclose(spread[0, 0], torch.tensor([0.4, 0.5, 0, 0, 0]))
    assert torch.allclose(spread[2, 2], torch.tensor([0, 0, 0.6, 0.7, 0]))
    assert not spread[1, 1:].any()


@torch.no_grad()
def test_groups_hold_each_sentence_once_and_little_padding() -> None:
    lengths = (40, 3, 1, 19, 20, 2, 9)
    layout = SentenceLayout.of(Padded.of_rows([sentences(*lengths)]))
    found = {int(row): longest for rows, longest in layout.groups() for row in rows}
    assert sorted(found) == list(range(len(lengths)))
    assert all(length <= found[row] <= 2 * length for row, length in enumerate(lengths))


def test_unknown_words_differ_by_their_letters() -> None:
    def scores(letters: int) -> torch.Tensor:
        torch.manual_seed(1)
        config = TaggerConfig(cell="lstm", layers=1, width=16, dropout=0.0, letters=letters)
        words = LineEncoder(Words(["the"]), config.annotations)
        source = Padded.of_rows(words.encode([Line("the walked"), Line("the walking")]))
        target = Padded.of_rows([Row([4, 5]), Row([4, 5])])
        return config.build(5, 7).eval().choices(Batch(source, target))[:, 1]

    plain, spelled = scores(0), scores(8)
    assert torch.equal(plain[0], plain[1])
    assert not torch.allclose(spelled[0], spelled[1])


def test_both_attentions_of_a_document_can_be_watched() -> None:
    torch.manual_seed(1)
    model = HierarchicalConfig(width=8, dropout=0.0).build(20, 8).eval()
    rows = [sentences(2, 1), sentences(3)]
    batch = Batch(Padded.of_rows(rows), Padded.of_rows([Row([5]), Row([6])]))
    _, captured = watch(model, model.log_probabilities, batch)
    first, second = by_sentence(captured, batch)
    (words,), (over,) = first.of("sentences-source"), first.of("target-sentences")
    assert (words.shape, over.shape) == ((1, 2, 4), (1, 2, 2))
    assert words[0, 0, :2].sum() == pytest.approx(1)
    assert words[0, 1, 2] == pytest.approx(1)
    assert second.of("target-sentences")[0].tolist() == [[[1.0], [1.0]]]


@torch.no_grad()
def test_the_memory_does_not_see_the_sentences_that_a_story_does_not_have() -> None:
    torch.manual_seed(1)
    model = EntityConfig(width=8, slots=3).build(20, 8).eval()
    rows = [sentences(3), sentences(2, 2), sentences(1, 2, 1, 2)]
    targets = [Row([5])] * 3
    together = model.log_probabilities(Batch(Padded.of_rows(rows), Padded.of_rows(targets)))
    for row, expected in zip(rows, together, strict=True):
        batch = Batch(Padded.of_rows([row]), Padded.of_rows([Row([5])]))
        alone, captured = watch(model, model.log_probabilities, batch)
        torch.testing.assert_close(alone[0], expected)
        gates = by_sentence(captured, batch)[0].of("sentences-memory")[0][0]
        assert not gates[-1].any()  # the question changes nothing
        assert (gates[:-1] > 0).all()


@pytest.mark.parametrize("config", [HierarchicalConfig(width=8), EntityConfig(width=8, slots=3)])
def test_a_document_without_any_sentence_gets_a_label(
    config: HierarchicalConfig | EntityConfig,
) -> None:
    """Such as a line of markers alone, and even if a batch has no other."""
    torch.manual_seed(1)
    model = config.build(20, 8).eval()
    empty, full = sentences(), sentences(3, 2)
    for rows in ([empty], [empty, empty], [full, empty]):
        batch = Batch(Padded.of_rows(rows), Padded.of_rows([Row([5])] * len(rows)))
        assert model.log_probabilities(batch)[:, 0].isfinite().all()
        assert all(len(best.tokens) == 1 for (best,) in model.generate(batch.source, Beam()))
        model(batch).total.backward()


def test_means_of_nothing_are_zero() -> None:
    x, mask = torch.ones(2, 3, 4), torch.tensor([[True, True, False], [False] * 3])
    for mean in (LearnedMean(4), EvenMean()):
        pooled, weights = mean(x, mask)
        assert weights.sum(dim=1).tolist() == pytest.approx([1, 0])
        assert weights[0, 2] == 0
        assert not pooled[1].any()
    means, there = average_groups(x, torch.tensor([[0, 0, 1], [0, -1, -1]]))
    assert there.tolist() == [[True, True], [True, False]]
    assert means[1].tolist() == [[1.0] * 4, [0.0] * 4]
