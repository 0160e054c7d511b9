"""Mixers: each against a dense reference, place by place, and without a tensor of n^2 elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from regard.config import check
from regard.data.batch import EOS, Padded
from regard.errors import RegardError, UsageError
from regard.models.language import LanguageConfig, NoSource
from regard.models.transformer import TransformerConfig
from regard.nn.blocks import BlockConfig, SelfAttention
from regard.nn.mixers import MixerKind, MixerSizes
from regard.nn.mixers.bigbird import BigBird, Pattern
from regard.nn.mixers.context import FullSequence, NextTokens
from regard.nn.position import PositionKind
from regard.nn.probe import capture

SIZES = MixerSizes(
    neighbourhood=8, block=4, global_blocks=1, random_blocks=2, projected=5, sharing="heads"
)
LOOKING: list[MixerKind] = ["full", "window", "bigbird"]
CAUSAL: list[MixerKind] = [*LOOKING, "linear"]
RELATIVE: list[PositionKind] = ["none", "shaw", "alibi"]


def build(
    kind: MixerKind, position: PositionKind = "none", sizes: MixerSizes = SIZES, scaled: bool = True
) -> SelfAttention:
    torch.manual_seed(0)
    anatomy = BlockConfig(
        width=16,
        inner=0,
        heads=2,
        dropout=0.0,
        scale_scores=scaled,
        position=position,
        max_distance=3,
        max_length=2048,
        mixing=sizes,
    )
    mixing = anatomy.self_attention(kind, 1, ("source", "source"))
    assert isinstance(mixing, SelfAttention)
    return mixing.eval()


def some_input(rows: int, length: int, seed: int = 1) -> Tensor:
    return torch.randn(rows, length, 16, generator=torch.Generator().manual_seed(seed))


def places_of(lengths: list[int], length: int) -> FullSequence:
    return FullSequence(torch.arange(length) < torch.tensor(lengths)[:, None])


def reading_of(rows: int, length: int, start: int = 0, copies: int = 1) -> NextTokens:
    tokens = torch.full((rows * copies, length), 5)
    return NextTokens(tokens, start, rows, torch.ones(rows * copies, 0, dtype=torch.bool))


def dense(mixing: SelfAttention, x: Tensor, seen: Tensor) -> Tensor:
    """softmax(Q K^T / sqrt(K) + relative terms) V with an explicit mask `seen` (B, T, T), pair by
    pair for what belongs to a distance."""
    query, key, value = mixing._project(x, 0)
    position = mixing.core.position
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    length = x.shape[1]
    away = torch.arange(length) - torch.arange(length)[:, None]
    named = dict(position.named_parameters())
    if named:
        vectors = named["keys"][away.clamp(-3, 3) + 3]  # (T, T, K)
        scores = scores + torch.einsum("bhik,ijk->bhij", query, vectors) / query.shape[-1] ** 0.5
    elif position.relative:
        slopes = torch.tensor([2.0**-4, 2.0**-8])
        scores = scores - slopes[:, None, None] * away.abs()
    weights = scores.masked_fill(~seen[:, None], -torch.inf).softmax(dim=-1)
    mixed = weights @ value
    if named:
        vectors = named["values"][away.clamp(-3, 3) + 3]
        mixed = mixed + torch.einsum("bhij,ijk->bhik", weights, vectors)
    return mixing.output(mixed.transpose(1, 2).flatten(2))


def seen_by(mixing: SelfAttention, kind: str, real: Tensor, causal: bool) -> Tensor:
    """(B, T, T): which places the real ones look at, said as simply as possible."""
    length = real.shape[1]
    place = torch.arange(length)
    away = place - place[:, None]
    seen = real[:, None].expand(-1, length, -1).clone()
    if kind == "window":
        seen &= away.abs() <= SIZES.neighbourhood // 2
    if kind == "bigbird":
        for row in range(len(real)):
            seen[row] &= bigbird_sees(mixing, int(real[row].sum()), length, causal)
    if causal:
        seen &= away <= 0
    return seen | (away == 0)


def bigbird_sees(mixing: SelfAttention, real: int, length: int, causal: bool) -> Tensor:
    assert isinstance(mixing.core, BigBird)
    pattern, size = mixing.core.pattern, SIZES.block
    blocks = -(-real // size)
    seen = torch.zeros(length, length, dtype=torch.bool)
    for block in range(blocks):
        stop = block + 1 if causal else blocks
        chosen, counts = pattern.blocks(torch.tensor(block), torch.tensor(stop), causal)
        looked_at = chosen[counts].tolist()
        if block < SIZES.global_blocks and not causal:
            looked_at = list(range(blocks))
        for other in looked_at:
            rows = slice(block * size, (block + 1) * size)
            seen[rows, other * size : (other + 1) * size] = True
    return seen


def close(first: Tensor, second: Tensor) -> None:
    torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("position", RELATIVE)
@pytest.mark.parametrize("kind", LOOKING)
@pytest.mark.parametrize("grad", [True, False])
def test_a_whole_line_equals_a_dense_reference(
    kind: MixerKind, position: PositionKind, grad: bool
) -> None:
    mixing, x = build(kind, position), some_input(3, 39)
    places = places_of([39, 22, 3], 39)
    with torch.set_grad_enabled(grad):
        expected = dense(mixing, x, seen_by(mixing, kind, places.real, causal=False))
        close(mixing(x, places)[places.real], expected[places.real])


@pytest.mark.parametrize("position", RELATIVE)
@pytest.mark.parametrize("kind", LOOKING)
def test_reading_on_equals_a_dense_reference(kind: MixerKind, position: PositionKind) -> None:
    mixing, x = build(kind, position), some_input(2, 37)
    seen = seen_by(mixing, kind, torch.ones(2, 37, dtype=torch.bool), causal=True)
    close(
        mixing.read(x, mixing.start(torch.zeros(2)), reading_of(2, 37))[0], dense(mixing, x, seen)
    )


@pytest.mark.parametrize("causal", [False, True])
def test_linear_attention_equals_its_formula(causal: bool) -> None:
    mixing, x = build("linear"), some_input(2, 150)  # more than two chunks
    places = places_of([150, 150 if causal else 31], 150)
    query, key, value = mixing._project(x, 0)
    f = torch.nn.functional.elu
    weights = (f(query) + 1) @ (f(key) + 1).transpose(-1, -2) * places.real[:, None, None]
    weights = weights.tril() if causal else weights
    mixed = weights / weights.sum(dim=-1, keepdim=True) @ value
    expected = mixing.output(mixed.transpose(1, 2).flatten(2))
    if causal:
        close(mixing.read(x, mixing.start(torch.zeros(2)), reading_of(2, 150))[0], expected)
    else:
        close(mixing(x, places)[places.real], expected[places.real])


@pytest.mark.parametrize("sharing", ["none", "heads", "keys"])
def test_linformer_equals_its_formula(sharing: Any) -> None:
    mixing = build("linformer", sizes=SIZES.changed(sharing=sharing))
    x, places = some_input(2, 20), places_of([20, 9], 20)
    projections = dict(mixing.core.named_parameters())["projections"]
    assert projections.shape[:2] == {"none": (2, 2), "heads": (2, 1), "keys": (1, 1)}[sharing]
    query, key, value = (part[1:, :, :9] for part in mixing._project(x, 0))  # without padding
    shorter = [part.expand(2, 5, -1)[..., :9] for part in projections.expand(2, -1, -1, -1)]
    weights = (query @ (shorter[0] @ key).transpose(-1, -2) / 8**0.5).softmax(dim=-1)
    mixed = weights @ (shorter[1] @ value)
    close(mixing(x, places)[1:, :9], mixing.output(mixed.transpose(1, 2).flatten(2)))


def test_linformer_refuses_a_line_past_its_length() -> None:
    with pytest.raises(RegardError, match=r"2049 pieces is longer than the 2048 positions"):
        build("linformer")(some_input(1, 2049), places_of([2049], 2049))


@torch.no_grad()
@pytest.mark.parametrize(
    ("kind", "position"),
    [("linear", "none")] + [(k, p) for k in LOOKING for p in ("none", "rotary", "shaw", "alibi")],
)
@pytest.mark.parametrize("parts", [[1] * 70, [33, 1, 20, 16], [5, 65]])
def test_reading_by_parts_equals_one_pass(
    kind: MixerKind, position: PositionKind, parts: list[int]
) -> None:
    config = LanguageConfig(
        layers=2, width=16, inner=0, heads=2, mixers=(kind,), position=position, mixing=SIZES
    )
    torch.manual_seed(0)
    decoder = config.build(30, 30).eval().decoder
    tokens = torch.randint(4, 30, (3, 70), generator=torch.Generator().manual_seed(2))
    state = decoder.start(NoSource(16)(no_source(3)))
    whole, _ = decoder(tokens, state)
    read = []
    for part in tokens.split(parts, dim=1):
        hidden, state = decoder(part, state)
        read.append(hidden)
    torch.testing.assert_close(torch.cat(read, dim=1), whole, rtol=1e-4, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize(("kind", "position"), [("bigbird", "shaw"), ("window", "alibi")])
def test_hypotheses_that_change_places_keep_their_past(
    kind: MixerKind, position: PositionKind
) -> None:
    """A beam of two for longer than any block or window, reordered at every step."""
    config = LanguageConfig(
        layers=2, width=16, inner=0, heads=2, mixers=(kind,), position=position, mixing=SIZES
    )
    torch.manual_seed(0)
    model = config.build(30, 30).eval()
    generator = torch.Generator().manual_seed(2)
    state = model.decoder.start(model.encoder(no_source(3))).spread(2)
    history = torch.zeros(6, 0, dtype=torch.long)
    for _ in range(30):
        tokens = torch.randint(4, 30, (6, 1), generator=generator)
        history = torch.cat([history, tokens], dim=1)
        hidden, state = model.decoder(tokens, state)
        fresh, _ = model.decoder(history, model.decoder.start(model.encoder(no_source(6))))
        torch.testing.assert_close(hidden[:, 0], fresh[:, -1], rtol=1e-4, atol=1e-5)
        rows = torch.randint(0, 2, (3, 2), generator=generator) + torch.arange(0, 6, 2)[:, None]
        state, history = state.select(rows.flatten()), history[rows.flatten()]


def no_source(rows: int) -> Padded:
    return Padded.of([[EOS]] * rows)


def test_a_memory_of_one_size() -> None:
    """However long the target: linear attention keeps sums, a window its last places."""
    for kind in ("linear", "window"):
        mixing, memory = build(kind), build(kind).start(torch.zeros(2))
        sizes = []
        for start in range(0, 40, 10):
            reading = reading_of(2, 10, start)
            _, memory = mixing.read(some_input(2, 10), memory, reading)
            sizes.append(sum(part.numel() for part in memory.past))
        assert memory.shared == ()
        assert len(set(sizes)) == 1


@torch.no_grad()
@pytest.mark.parametrize("kind", CAUSAL)
@pytest.mark.parametrize("causal", [False, True])
def test_captured_weights_are_those_used(kind: MixerKind, causal: bool) -> None:
    mixing, x = build(kind), some_input(2, 37)
    places = places_of([37, 37 if causal else 18], 37)
    with capture(mixing) as weights:
        if causal:
            mixing.read(x, mixing.start(torch.zeros(2)), reading_of(2, 37))
        else:
            mixing(x, places)
    (found,) = weights["core"]
    assert found.shape == (2, 2, 37, 37)
    seen = seen_by(mixing, kind, places.real, causal)[:, None].expand_as(found)
    rows = places.real[:, None].expand(2, 2, 37)
    assert ((found > 0) == seen)[rows].all()
    _, _, value = mixing._project(x, 0)
    mixed = mixing.output((found @ value).transpose(1, 2).flatten(2))
    if causal:
        close(mixed, mixing.read(x, mixing.start(torch.zeros(2)), reading_of(2, 37))[0])
    else:
        close(mixed[places.real], mixing(x, places)[places.real])


@torch.no_grad()
@pytest.mark.parametrize("kind", ["window", "bigbird"])
def test_captured_weights_of_a_later_call_stand_at_their_places(kind: MixerKind) -> None:
    mixing, x = build(kind), some_input(2, 30)
    with capture(mixing) as weights:
        memory = mixing.read(x, mixing.start(torch.zeros(2)), reading_of(2, 30))[1]
        step = NextTokens(torch.full((2, 1), 5), 30, 2, torch.ones(2, 30, dtype=torch.bool))
        later = some_input(2, 1, seed=4)
        mixing.read(later, memory, step)
        mixing.read(torch.cat([x, later], dim=1), mixing.start(torch.zeros(2)), reading_of(2, 31))
    _, found, expected = weights["core"]
    close(found, expected[:, :, -1:])


@torch.no_grad()
def test_linformer_hands_over_what_each_place_counts_for() -> None:
    mixing, x, places = build("linformer"), some_input(2, 20), places_of([20, 9], 20)
    with capture(mixing) as weights:
        mixed = mixing(x, places)
    (found,) = weights["core"]
    assert (found[1, :, :, 9:] == 0).all()
    value = mixing._project(x, 0)[2]
    close(mixed, mixing.output((found @ value).transpose(1, 2).flatten(2)))


class Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that any operation gives."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Optional[Any] = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor):
                self.elements = max(self.elements, leaf.untyped_storage().nbytes() // 4)
        return result


def largest(work: Callable[[], Tensor]) -> int:
    """Over the way there and back."""
    with Largest() as found:
        work().sum().backward()
    return found.elements


def in_encoder(mixing: SelfAttention, length: int) -> int:
    x, places = some_input(2, length).requires_grad_(), places_of([length, length // 3], length)
    return largest(lambda: mixing(x, places))


def in_decoder(mixing: SelfAttention, length: int) -> int:
    x, reading = some_input(2, length).requires_grad_(), reading_of(2, length)
    return largest(lambda: mixing.read(x, mixing.start(torch.zeros(2)), reading)[0])


WIDE = MixerSizes(neighbourhood=32, block=16, global_blocks=1, random_blocks=1, projected=32)
LINEAR = [
    *((kind, position) for kind in ("window", "bigbird") for position in RELATIVE),
    ("linear", "none"),
]


@pytest.mark.parametrize(
    ("kind", "position", "pass_through"),
    [
        ("linformer", "none", in_encoder),
        *((*pair, side) for pair in LINEAR for side in (in_encoder, in_decoder)),
    ],
)
def test_no_tensor_has_as_many_elements_as_pairs_of_places(
    kind: MixerKind, position: PositionKind, pass_through: Callable[[SelfAttention, int], int]
) -> None:
    mixing = build(kind, position, WIDE)
    few, many = pass_through(mixing, 512), pass_through(mixing, 1024)
    assert few < 512**2
    assert many < 1024**2
    assert many < 2.2 * few  # twice the places, twice the memory


@pytest.mark.parametrize("position", ["alibi", "shaw"])
@pytest.mark.parametrize("pass_through", [in_encoder, in_decoder])
def test_full_attention_does_make_such_a_tensor(
    position: PositionKind, pass_through: Callable[[SelfAttention, int], int]
) -> None:
    assert pass_through(build("full", position), 512) >= 512**2


def test_full_attention_that_is_looked_at_does_too() -> None:
    mixing = build("full")
    with capture(mixing):
        assert in_encoder(mixing, 512) >= 512**2


@pytest.mark.parametrize("causal", [False, True])
def test_the_pattern_of_bigbird(causal: bool) -> None:
    pattern, blocks = Pattern(block=4, globals=2, randoms=3, number=0), 40
    drawn = set()
    for block in range(blocks):
        stop = block + 1 if causal else blocks
        chosen, counts = pattern.blocks(torch.tensor(block), torch.tensor(stop), causal)
        looked_at = chosen[counts].tolist()
        assert len(looked_at) == len(set(looked_at))  # nothing is counted twice
        assert all(0 <= other < stop for other in looked_at)
        near = {block - 1, block} if causal else {block - 1, block, block + 1}
        expected = {0, 1, *near} & set(range(stop))
        assert expected <= set(looked_at)
        others = stop - len(expected)
        randoms = set(looked_at) - expected
        assert min(1, others) <= len(randoms) <= 3
        assert len(randoms) == 3 or others < 6
        drawn |= {block - other for other in randoms}
    assert len(drawn) > 20  # at many distances


def test_layers_draw_for_themselves() -> None:
    blocks = torch.arange(20)
    stop = torch.full((20,), 20)
    first, second = (
        Pattern(block=4, globals=1, randoms=2, number=number).blocks(blocks, stop, False)[0]
        for number in (0, 1)
    )
    assert not torch.equal(first, second)


def test_scores_can_be_left_unscaled() -> None:
    x, places = some_input(2, 12), places_of([12, 12], 12)
    for kind in LOOKING:
        plain, scaled = build(kind, scaled=False), build(kind)
        with torch.no_grad():
            plain.project.weight[:16] /= 8**0.5  # the queries: a head is 8 wide
        close(plain(x, places), scaled(x, places))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"decoder_mixers": ["linformer"]}, "a linformer needs whole lines"),
        ({"mixers": ["linear"], "position": "shaw"}, "shaw positions compare two positions"),
        ({"mixers": ["full", "linformer"], "position": "alibi"}, "and a linformer mixer never"),
        ({"decoder_mixers": ["linear"], "position": "rotary"}, "rotary positions compare"),
        ({"mixers": ["full"] * 5}, "5 mixers are more than the 4 layers"),
        ({"mixers": []}, "'mixers' cannot be .*: give a list of length 1 or more"),
        ({"mixers": ["fool"]}, "cannot be 'fool': choose one of none, full, window"),
        ({"mixing": {"blocks": 3}}, "Did you mean 'mixing.block'|Did you mean 'block'"),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as refused:
        check(TransformerConfig, values)
    assert "\n" not in str(refused.value)


def test_a_language_model_is_causal_throughout() -> None:
    with pytest.raises(UsageError, match="a linformer needs whole lines"):
        check(LanguageConfig, {"mixers": ["linformer"]})
    with pytest.raises(UsageError, match="'mixers' is for cell=attention only"):
        check(LanguageConfig, {"cell": "lstm", "mixers": ["window"]})


def test_mixers_are_taken_in_turn() -> None:
    config = check(TransformerConfig, {"mixers": ["window", "full"], "decoder_mixers": ["none"]})
    encoder = config.build(20, 20).encoder
    kinds = [type(layer.attention.core).__name__ for layer in encoder.layers]
    assert kinds == ["WindowAttention", "FullAttention", "WindowAttention", "FullAttention"]


def test_a_window_wider_than_the_line_costs_no_more_than_the_line() -> None:
    for measure in (in_encoder, in_decoder):
        narrow, wide = (
            measure(build("window", sizes=MixerSizes(neighbourhood=places)), 40)
            for places in (80, 4000)
        )
        assert wide <= narrow
