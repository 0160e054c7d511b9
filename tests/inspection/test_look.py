"""A look has the weights that the model used, whatever the family."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, get_args
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from torch.nn import functional
from untrained import LETTERS, untrained

import regard
from regard.data.annotations import Numbers, Pixels
from regard.data.batch import EOS, Batch, Padded
from regard.data.line import Line
from regard.data.tokenizer import Bytes, Tokenizer
from regard.errors import UsageError
from regard.inspection.alignment import MOMENTS, AttentionHeads, every_head
from regard.inspection.look import look
from regard.models import Architecture
from regard.models.language import LanguageConfig
from regard.models.transformer import TransformerConfig
from regard.models.turing import TuringConfig
from regard.nn.captured import Attention
from regard.nn.position import Shaw
from regard.nn.probe import capture
from regard.predict import Predictor
from regard.search.beam import Beam

TEXT = "ant bee cat dog eel"
MEMBERS = [
    pytest.param(config, id=f"{config.kind}-{number}")
    for member in get_args(get_args(Architecture)[0])
    for number, config in enumerate(member.miniatures())
]
SMALL = TransformerConfig.miniatures()[0]
SYNTAX = SMALL.changed(position="syntax")
TREE = (2, 0, 2, 5, 3)
"""A tree over the text, for those that read one."""


def line_for(predictor: Predictor) -> Line:
    for kind in predictor.annotations:
        if isinstance(kind, Numbers):
            point = [f"{n / 7:.2f}" for n in range(1, kind.width + 1)]
            return Line(" ".join(",".join([f"0.{word}", *point[1:]]) for word in range(1, 6)))
        if isinstance(kind, Pixels):
            row = [",".join(str(40 * n + y) for n in range(5)) for y in range(kind.height)]
            return Line(" ".join(row))
    return Line(TEXT, TREE if predictor.annotations else None)


def test_the_public_name_is_this_function() -> None:
    assert regard.look is look


@pytest.mark.parametrize("config", MEMBERS)
def test_every_family_can_be_looked_at(config: Any) -> None:
    predictor = untrained(config)
    line = line_for(predictor)
    found = look(predictor, line)
    sides = {"cross": (found.target, found.source), "encoder": (found.source, found.source)}
    assert (found.read is not None) == predictor.model.reads_target
    if found.read is not None:
        sides["decoder"] = (found.read, found.read)
    for kind, (looking, looked_at) in sides.items():
        for layer in found.layers.of(kind):
            assert layer.shape[1:] == (len(looking.ids), len(looked_at.ids))
            if (layer >= 0).all():  # there is a kind whose weights have any sign
                np.testing.assert_allclose(layer.sum(axis=-1), 1, atol=1e-5)
        bits = np.array([b for heads in found.entropy(kind) for b in heads])
        assert ((bits >= 0) & (bits <= math.log2(len(looked_at.ids)) + 1e-9)).all()
    assert predictor(line) == found.translation
    source = line if predictor.model.reads_source else ""
    ((log, count),) = predictor.score([(source, found.translation)])
    assert count == len(found.written)
    assert found.log_probability == pytest.approx(log, abs=1e-3)
    assert found.html()


def test_heads_that_do_not_fit_are_refused_in_a_sentence() -> None:
    with pytest.raises(
        UsageError, match="reads the dependency tree of each source line: give Line"
    ):
        look(untrained(SYNTAX), TEXT)
    with pytest.raises(UsageError, match="has 2 heads, but its source has 5 words"):
        look(untrained(SYNTAX), Line(TEXT, (2, 0)))
    with pytest.raises(UsageError, match="no text"):
        look(untrained(SYNTAX), Line("", ()))
    for config in (SMALL, LanguageConfig.miniatures()[0]):  # these read no tree
        found, plain = (look(untrained(config), line) for line in (Line(TEXT, TREE), TEXT))
        assert found.translation == plain.translation
        assert found.log_probability == plain.log_probability


@pytest.mark.parametrize("config", MEMBERS)
def test_the_weights_are_those_of_the_search(config: Any) -> None:
    """Greedy search step by step, captured, against the one pass of a look."""
    if config.signature:
        pytest.skip("what this model writes is changed afterwards")
    predictor = untrained(config, Beam(beam=1).quick())
    found = look(predictor, line_for(predictor))
    with capture(predictor.model) as steps:
        predictor(line_for(predictor))
    used = [torch.cat(each, dim=2)[0].numpy() for each in across(predictor.model, steps)]
    for layer, weights in zip(found.layers.cross, used, strict=True):
        np.testing.assert_allclose(weights, layer, atol=1e-5)


def across(model: torch.nn.Module, steps: dict[str, list[torch.Tensor]]) -> list[Any]:
    modules = dict(model.named_modules())
    return [each for name, each in steps.items() if modules[name].looks == ("target", "source")]


def test_the_weights_are_those_of_the_fused_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel never makes weights, but the mean of unit vectors by them is the weights."""
    predictor = untrained(SMALL)
    found = look(predictor, TEXT)
    fused, seen = functional.scaled_dot_product_attention, []

    def telling(query: Any, key: Any, value: Any, **options: Any) -> Any:
        unit = torch.eye(key.shape[2]).expand(*key.shape[:2], -1, -1)
        seen.append(fused(query, key, unit, **options).detach()[0].numpy())
        return fused(query, key, value, **options)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", telling)
    predictor.model.read(Batch(Padded.of([found.source.ids]), Padded.of([found.target.ids])))
    layers = found.layers
    decoder = [layer for both in zip(layers.decoder, layers.cross, strict=True) for layer in both]
    assert len(seen) == len(layers.encoder) + len(decoder)
    for weights, layer in zip(seen, [*layers.encoder, *decoder], strict=True):
        np.testing.assert_allclose(weights, layer, atol=1e-5)


def test_the_weights_by_a_tree_are_those_that_were_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Translating makes the weights within the source even without a probe."""
    predictor = untrained(SYNTAX)
    found = look(predictor, Line(TEXT, TREE))
    other = look(predictor, Line(TEXT, (0, 1, 2, 3, 4)))
    seen, mean = [], Shaw.mean

    def telling(self: Shaw, weights: torch.Tensor, distance: torch.Tensor) -> torch.Tensor:
        seen.append(weights[0].numpy())
        return mean(self, weights, distance)

    monkeypatch.setattr(Shaw, "mean", telling)
    predictor(Line(TEXT, TREE))
    for weights, layer, by_other in zip(
        seen, found.layers.encoder, other.layers.encoder, strict=True
    ):
        np.testing.assert_allclose(weights, layer, atol=1e-5)
        assert np.abs(weights - by_other).max() > 1e-3


@pytest.mark.parametrize("tokenizer", [Bytes(), LETTERS], ids=lambda each: each.kind)
def test_a_tree_over_words_is_one_over_their_pieces(tokenizer: Tokenizer) -> None:
    predictor = untrained(SYNTAX, tokenizer=tokenizer)
    found = look(predictor, Line(f" {TEXT}  ", TREE), target="EEL DOG CAT")
    assert found.source.words[:-1] == tuple(TEXT.split())
    with capture(predictor.model) as weights:
        list(predictor.score([(Line(TEXT, TREE), "EEL DOG CAT")]))
    used = [each[0][0].numpy() for each in across(predictor.model, weights)]
    for layer, read in zip(found.layers.cross, used, strict=True):
        np.testing.assert_allclose(read, layer, atol=1e-5)


def test_a_given_target_is_read_instead_of_searched_for() -> None:
    found = look(untrained(SMALL), TEXT, target="ANT BEE")
    assert found.given
    assert found.search_tree == ()
    assert found.target.words == ("ANT", "BEE", "</s>")
    assert found.read is not None
    assert found.read.words == ("<s>", "ANT", "BEE")
    assert found.attention("cross").shape == (3, 6)


def test_a_prefix_is_what_the_target_begins_with() -> None:
    predictor = untrained(SMALL)
    free = look(predictor, TEXT)
    begun = "HEN GNU" if not free.translation.startswith("HEN GNU") else "GNU HEN"
    found = look(predictor, TEXT, prefix=f" {begun} ")
    assert (found.given, found.prefix) == (False, begun)
    (expected,) = predictor.predict([TEXT], [begun])
    assert found.translation == expected.text
    assert found.translation.startswith(begun)
    assert {node.token for node in found.search_tree if node.step == 1} == {found.target.ids[0]}
    assert look(predictor, TEXT, prefix=" ").translation == free.translation
    with pytest.raises(UsageError, match="not both"):
        look(predictor, TEXT, target="ANT", prefix="ANT")
    with pytest.raises(UsageError, match="continues the text itself"):
        look(untrained(LanguageConfig.miniatures()[0]), TEXT, prefix="ANT")


def test_words_are_aligned_by_the_heads_that_agree_most_in_the_sentence() -> None:
    found = look(untrained(SMALL), TEXT, target="ANT BEE CAT")

    def agreement(heads: AttentionHeads) -> int:
        return len(found.alignment(heads, "intersection"))

    every = [
        AttentionHeads((head,), moment)
        for head in every_head(found.layers.cross)
        for moment in MOMENTS
    ]
    assert agreement(found.attention_heads) >= max(map(agreement, every))
    mean = look(untrained(SMALL), TEXT, attention_heads=AttentionHeads())
    assert mean.attention_heads == AttentionHeads()


def test_an_empty_translation_can_be_looked_at() -> None:
    found = look(untrained(SMALL, Beam(max_length_ratio=0.01, max_length_extra=1)), TEXT)
    assert found.translation == ""
    assert found.alignment() == frozenset()
    assert found.html()


def test_means_are_means_and_one_head_is_itself() -> None:
    found = look(untrained(SMALL), TEXT)
    layers = found.layers.cross
    np.testing.assert_array_equal(found.attention("cross", 2, 1), layers[1][0])
    np.testing.assert_allclose(found.attention("cross"), np.mean(layers, axis=(0, 1)), atol=1e-7)
    np.testing.assert_allclose(found.attention("cross", layer=1), layers[0].mean(axis=0), atol=1e-7)
    for wrong in ({"layer": 3}, {"head": 3}, {"layer": 0}):
        with pytest.raises(UsageError, match="choose one from 1 to 2"):
            found.attention("cross", **wrong)


def test_what_else_was_probable_is_in_order_and_has_the_token() -> None:
    found = look(untrained(SMALL, Beam(beam=1)), TEXT)
    for each in found.written:
        logs = [log for _, log in each.best]
        assert logs == sorted(logs, reverse=True)
        if each.piece in dict(each.best):
            assert dict(each.best)[each.piece] == pytest.approx(each.log_probability)


@pytest.mark.parametrize("width", [1, 3])
def test_the_tree_has_the_hypotheses_of_the_search(width: int) -> None:
    predictor = untrained(SMALL, Beam(beam=width))
    found = look(predictor, TEXT)
    ended = sorted(
        (node for node in found.search_tree if node.rank >= 0), key=lambda node: node.rank
    )
    assert [node.fate for node in ended] == ["finished"] * len(ended)
    path, node = [], ended[0]
    while True:
        path.insert(0, node.token)
        if node.parent < 0:
            break
        assert found.search_tree[node.parent].step == node.step - 1
        node = found.search_tree[node.parent]
    assert tuple(path) == found.target.ids
    assert ended[0].log_probability == pytest.approx(found.log_probability, abs=1e-3)
    parents = {each.parent for each in found.search_tree}
    for place, each in enumerate(found.search_tree):
        assert (place in parents) == (each.fate == "went on")
    for step in {each.step for each in found.search_tree}:
        kept = [each for each in found.search_tree if each.step == step and each.fate != "finished"]
        assert len(kept) <= width


def test_observing_a_search_changes_nothing() -> None:
    predictor = untrained(SMALL, Beam(beam=3, best=3))
    plain = [choice.text for choice in next(predictor.predict([TEXT])).best]
    seen: list[int] = []
    search = predictor.search.observed(lambda tokens, totals: seen.append(tokens.shape[2]))
    source = Padded.of([[*LETTERS.encode([TEXT])[0], EOS]])
    observed = predictor.model.generate(source, search)[0]
    assert [LETTERS.decode(each.tokens) for each in observed] == plain
    assert seen == list(range(2, len(seen) + 2))


POSITIONS = ["sinusoidal", "learned", "index", "concatenated", "rotary", "alibi", "shaw", "none"]


@pytest.mark.parametrize("position", POSITIONS)
def test_positions_have_a_picture(position: str) -> None:
    config = SMALL.changed(position=position)
    found = look(untrained(config), TEXT).positions
    entrance = {"rotary": "rotate", "alibi": "bias", "shaw": "bias"}.get(position, "add")
    if position == "none":
        assert found is None
        return
    assert found is not None
    assert found.entrance == entrance
    assert np.ptp(found.table, axis=0).any()


def test_the_nearest_neighbours_are_nearest() -> None:
    predictor = untrained(SMALL)
    found = look(predictor, "bee bee ant")
    assert [each.piece for each in found.source_neighbours] == ["bee", "ant"]
    table = predictor.model.get_submodule("encoder.embedding.tokens").weight.detach()
    cosine = functional.cosine_similarity(table[LETTERS.encode(["bee"])[0]], table)
    cosine[:4] = cosine[LETTERS.encode(["bee"])[0]] = -1
    nearest = LETTERS.pieces([int(cosine.argmax())])[0]
    assert found.source_neighbours[0].near[0] == (nearest, pytest.approx(float(cosine.max())))


@pytest.mark.parametrize("text", ["", "   "])
def test_no_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no text"):
        look(untrained(SMALL), text)


def test_a_model_without_attention_says_so() -> None:
    from regard.models.convolutional import ByteNetConfig

    found = look(untrained(ByteNetConfig.miniatures()[0]), TEXT)
    assert found.written
    assert found.search_tree
    with pytest.raises(UsageError, match="no attention to show"):
        found.attention("cross")
    with pytest.raises(UsageError, match="cannot align words"):
        found.alignment()


@pytest.mark.parametrize("config", MEMBERS)
def test_without_a_kind_the_first_there_is_gets_saved(config: Any, tmp_path: Any) -> None:
    predictor = untrained(config)
    found = look(predictor, line_for(predictor))
    if not found.layers.kinds:
        with pytest.raises(UsageError, match=r"save the page as \.html"):
            found.save(tmp_path / "a.svg")
        return
    found.save(tmp_path / "a.svg")
    assert ElementTree.parse(tmp_path / "a.svg")
    wanted = "cross" if found.layers.cross else next(iter(found.layers.kinds))
    np.testing.assert_array_equal(found.attention(), found.attention(wanted))
    with pytest.raises(UsageError, match=f"no wrong attention: choose .*{wanted}"):
        found.save(tmp_path / "b.svg", "wrong")


def test_pictures_are_saved(tmp_path: Any) -> None:
    found = look(untrained(SMALL), TEXT)
    found.save(tmp_path / "a.html")
    found.save(tmp_path / "a.svg", "encoder", layer=1, head=2, words=True)
    found.save(tmp_path / "a.png")
    assert (tmp_path / "a.html").read_text() == found.html()
    space = "{http://www.w3.org/2000/svg}"
    groups = ElementTree.parse(tmp_path / "a.svg").iter(f"{space}g")
    (cells,) = (group for group in groups if group.get("id") == "weights")
    styles = (cell.get("style", "") for cell in cells.iter(f"{space}path"))
    red = np.array([int(each.partition("fill: #")[2][:2], 16) for each in styles])
    shown = (((255 - red) / (255 - 0x05)) ** 2).reshape(6, 6)
    np.testing.assert_allclose(shown, found.attention("encoder", 1, 2), atol=0.02)
    assert (tmp_path / "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with pytest.raises(UsageError, match="svg or"):
        found.save(tmp_path / "a.gif")


def test_attention_over_other_axes_is_shown_with_numbers() -> None:
    """A model may attend to more than tokens, such as to the slots of a memory."""
    found = look(untrained(SMALL), TEXT)
    steps, slots = len(found.target.ids), 5
    memory = np.full((1, steps, slots), 1 / slots, dtype=np.float32)
    by_axes = {**found.layers.by_axes, ("sentences", "memory"): (memory,)}
    other = replace(found, layers=Attention(by_axes))
    assert list(other.layers.kinds) == ["cross", "encoder", "decoder", "sentences-memory"]
    looking, looked_at = other.sides("sentences-memory")
    assert looking.words == tuple(str(number) for number in range(1, steps + 1))
    assert looked_at.words == ("1", "2", "3", "4", "5")
    np.testing.assert_allclose(other.attention("sentences-memory"), memory[0])
    assert '"sentences-memory"' in other.html()


def test_the_heads_of_a_machine_are_shown_over_its_steps() -> None:
    """Rows: the words of the source, which is read, then those of the target, which is written."""
    predictor = untrained(TuringConfig.miniatures()[1])
    found = look(predictor, TEXT, target="fox gnu")
    assert list(found.layers.kinds) == ["reads", "writes"]
    for kind in found.layers.kinds:
        looking, slots = found.sides(kind)
        assert looking.words == (*TEXT.split(), "</s>", "fox", "gnu", "</s>")
        assert slots.words == tuple(str(number) for number in range(1, 11))
        assert found.layers.of(kind)[0].shape == (2, 9, 10)
        assert found.attention(kind, head=2, words=True).shape == (9, 10)
    assert '"read heads"' in found.html()
    assert '"write heads"' in found.html()
