"""Convolutions: what a place sees, what is remembered, and what a step costs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from regard.config import check
from regard.data.batch import Padded
from regard.errors import RegardError, UsageError
from regard.models.base import EncoderDecoder
from regard.models.convolutional import ByteNetConfig, ConvolutionalConfig
from regard.nn.convolution import (
    Convolution,
    DilatedBlock,
    GatedConvolution,
    StepAttention,
    scale_gradient,
)
from regard.nn.probe import Watched
from regard.nn.state import State

SIZE = 11
GATED = ConvolutionalConfig(layers=2, width=8, dropout=0.0)
DILATED = ByteNetConfig(layers=3, width=8, stretch=1.0, extra=0, dropout=0.0)
BOTH = pytest.mark.parametrize("config", [GATED, DILATED], ids=lambda config: config.kind)
SHAPES = pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (3, 1), (3, 4), (5, 2)])


def build(config: Any) -> EncoderDecoder:
    torch.manual_seed(0)
    model: EncoderDecoder = config.build(SIZE, SIZE)
    return model.eval()


def begin(model: EncoderDecoder, length: int) -> State:
    state: State = model.decoder.start(model.encoder(source_of(length)))
    return state


def source_of(*lengths: int) -> Padded:
    draw = torch.Generator().manual_seed(1)
    return Padded.of([torch.randint(4, SIZE, (n,), generator=draw).tolist() for n in lengths])


def seen_from(y: Tensor, x: Tensor) -> list[int]:
    """The places of x (1, T, D) that the vector y depends on."""
    (slope,) = torch.autograd.grad(y.abs().sum(), x)
    return slope[0].abs().sum(dim=1).nonzero()[:, 0].tolist()


def flops(work: Any) -> int:
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        work()
    return int(counter.get_total_flops())


@SHAPES
def test_a_place_sees_what_is_promised(kernel: int, dilation: int) -> None:
    layer = Convolution(4, 6, kernel, dilation)
    x = torch.randn(1, 40, 4, requires_grad=True)
    half = kernel // 2
    around = [20 + i * dilation for i in range(-half, half + 1)]
    assert seen_from(layer.centred(x)[0, 20], x) == around
    behind = [20 - i * dilation for i in reversed(range(kernel))]
    assert seen_from(layer.causal(x, layer.begin(x))[0][0, 20], x) == behind


@SHAPES
def test_some_places_at_a_time_equal_all_at_once(kernel: int, dilation: int) -> None:
    layer = Convolution(4, 6, kernel, dilation)
    x = torch.randn(2, 12, 4)
    whole, last = layer.causal(x, layer.begin(x))
    past, parts = layer.begin(x), []
    for part in x.split([1, 4, 1, 1, 5], dim=1):
        y, past = layer.causal(part, past)
        assert past.shape == (2, (kernel - 1) * dilation, 4)
        parts.append(y)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole)
    assert torch.equal(past, last)


def test_a_convolution_is_that_of_torch() -> None:
    layer = Convolution(4, 6, kernel=3, dilation=2)
    x = torch.randn(2, 9, 4)
    weight = layer.weigh.weight.unflatten(1, (3, 4)).transpose(1, 2)  # (outputs, D, kernel)
    there = torch.conv1d(x.transpose(1, 2), weight, layer.weigh.bias, padding=4, dilation=2)
    torch.testing.assert_close(layer.centred(x), there.transpose(1, 2)[:, 2:-2])


def test_a_gated_convolution_by_hand() -> None:
    gated = GatedConvolution(width=2, kernel=3, dropout=0.0)
    x = torch.tensor([[[1.0, 3.0], [5.0, 1.0], [7.0, 7.5]]])
    normed = [[-1.0, 1.0], [1.0, -1.0], [0.0, 0.0]]  # the last place is not real
    weight, bias = gated.convolution.weigh.weight, gated.convolution.weigh.bias
    with torch.no_grad():
        bias.copy_(torch.tensor([0.1, 0.2, 0.3, 0.4]))
    real = torch.tensor([[[1.0], [1.0], [0.0]]])
    found = gated.centred(x, real)[0, 1]
    a_and_b = weight @ torch.tensor([*normed[0], *normed[1], *normed[2]]) + bias
    torch.testing.assert_close(found, a_and_b[:2] * torch.sigmoid(a_and_b[2:]), rtol=1e-4, atol=0)


@torch.no_grad()
def test_a_gated_convolution_keeps_the_scale() -> None:
    torch.manual_seed(0)
    gated = GatedConvolution(width=128, kernel=3, dropout=0.2)
    x = torch.randn(4, 50, 128)
    h, _ = gated.causal(x, gated.convolution.begin(x))
    assert 0.7 < float(h.var()) < 1.6


def test_attention_by_hand_with_two_hypotheses_a_sentence() -> None:
    attention = StepAttention(4)
    h, embedded = torch.randn(4, 3, 4), torch.randn(4, 3, 4)
    keys, values = torch.randn(2, 1, 5, 4), torch.randn(2, 1, 5, 4)
    found = attention(h, embedded, (keys, values), torch.zeros(2, 1, 1, 5))
    query = (attention.query(h[3, 1]) + embedded[3, 1]) / 2**0.5
    weights = (keys[1, 0] @ query / 2).softmax(dim=0)
    torch.testing.assert_close(found[3, 1], attention.output(weights @ values[1, 0]))


def test_a_dilated_block_by_hand() -> None:
    torch.manual_seed(0)
    block = DilatedBlock(width=4, kernel=3, dilation=2, dropout=0.0)
    x = torch.randn(1, 5, 4)

    def norm(x: Tensor) -> Tensor:
        return torch.layer_norm(x, x.shape[-1:]).relu()

    inside = norm(block.narrow(norm(x)))
    taps = torch.cat([inside[0, 0], inside[0, 2], inside[0, 4]])
    expected = x[0, 2] + block.widen(norm(block.convolution.weigh(taps)))
    torch.testing.assert_close(block.centred(x, torch.ones(1, 5, 1))[0, 2], expected)


def test_a_scaled_gradient() -> None:
    x = torch.ones(3, requires_grad=True)
    y = scale_gradient(x, 0.25)
    assert torch.equal(x, y)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.25] * 3


@BOTH
def test_padding_is_not_seen(config: Any) -> None:
    encoder = build(config).encoder
    alone, beside = encoder(source_of(5)), encoder(source_of(5, 12))
    length = alone.output.shape[1]
    torch.testing.assert_close(alone.output[0], beside.output[0, :length])
    assert not beside.mask[0, length:].any()


@BOTH
@torch.no_grad()
def test_neither_the_state_nor_a_step_grows(config: Any) -> None:
    model = build(config)
    early = begin(model, 9)
    _, late = model.decoder(torch.full((1, 50), 5), early)
    assert [past.shape for past in early.past] == [past.shape for past in late.past]
    step = torch.tensor([[5]])
    assert flops(lambda: model.decoder(step, early)) == flops(lambda: model.decoder(step, late))


@pytest.mark.parametrize(("cycle", "field"), [(3, 1 + 2 * (1 + 2 + 4)), (2, 1 + 2 * (1 + 2 + 1))])
@torch.no_grad()
def test_a_decoder_sees_as_far_back_as_its_dilations_reach(cycle: int, field: int) -> None:
    model = build(DILATED.changed(cycle=cycle)).double()
    tokens = torch.full((1, 20), 5)
    changed = tokens.clone()
    changed[0, 2] = 6
    before, after = (model.decoder(t, begin(model, 30))[0][0] for t in (tokens, changed))
    differs = (before - after).abs().amax(dim=1) > 1e-12
    assert differs.nonzero()[:, 0].tolist() == list(range(2, min(20, 2 + field)))


def test_bytenet_has_no_attention_and_takes_linear_time() -> None:
    model = build(DILATED)
    assert not [part for part in model.modules() if isinstance(part, Watched)]

    def work(length: int) -> int:
        tokens = torch.full((1, length), 5)
        return flops(lambda: model.decoder(tokens, begin(model, length)))

    assert work(80) == 2 * work(40)


@torch.no_grad()
def test_bytenet_reads_each_column_with_its_token_and_zeros_past_the_last() -> None:
    model = build(DILATED.changed(stretch=1.5, extra=2))
    encoded = model.encoder(source_of(3, 6))
    assert encoded.mask.sum(dim=1).tolist() == [6, 11]  # 1.5 x 3 + 2 and 1.5 x 6 + 2
    assert not encoded.output[~encoded.mask].any()
    assert encoded.output[encoded.mask].abs().sum(dim=-1).min() > 0
    state = model.decoder.start(encoded)
    more = State(torch.nn.functional.pad(encoded.output, (0, 0, 0, 9)), state.past)
    tokens = torch.full((2, 20), 5)
    torch.testing.assert_close(model.decoder(tokens, state)[0], model.decoder(tokens, more)[0])
    other = encoded.output.clone()
    other[:, 4] += torch.randn(8)
    hidden, changed = (model.decoder(tokens, State(s, state.past))[0] for s in (more.shared, other))
    assert (hidden != changed).any(dim=-1)[0].nonzero()[0] == 4


def test_past_the_learned_places_is_refused() -> None:
    model = build(GATED.changed(max_length=6))
    assert model.length_limit == 6
    with pytest.raises(RegardError, match="max_length"):
        model.encoder(source_of(7))
    assert build(GATED.changed(position="sinusoidal")).length_limit is None


@pytest.mark.parametrize(
    ("kind", "values", "reason"),
    [
        (ConvolutionalConfig, {"kernel": 4}, "odd kernel"),
        (ConvolutionalConfig, {"width": 7, "position": "sinusoidal"}, "even width"),
        (ByteNetConfig, {"kernel": 4}, "odd kernel"),
        (ByteNetConfig, {"width": 7}, "even width"),
    ],
)
def test_what_cannot_be_is_refused(kind: Any, values: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        check(kind, values)
