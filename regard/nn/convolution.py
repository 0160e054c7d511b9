"""Convolutions that read a whole sequence or a few positions at a time, and their blocks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.nn.attention import DotProductAttention, KeysValues
from regard.nn.blocks import AnyFeedForward
from regard.nn.dropout import Dropout
from regard.nn.linear import Linear, linear
from regard.nn.mixers.context import Positions
from regard.nn.norm import LayerNorm

HALF = 0.5**0.5
"""(x + y) sqrt(1/2) has the variance of x and y where these are independent."""


class Convolution(nn.Module):
    """y_t = b + sum over i < kernel of W_i x_{t + i dilation}.

    The shifted views are concatenated and multiplied at once. On a CPU that is faster than the sum
    of the products; it trains as fast as conv1d, and a step of search over 64 rows takes a third
    of the time. Outputs start with `gain` times the mean square of the inputs.
    """

    def __init__(
        self, inputs: int, outputs: int, kernel: int, dilation: int = 1, gain: float = 1.0
    ) -> None:
        super().__init__()
        self.inputs = inputs
        self.dilation = dilation
        self.reach = (kernel - 1) * dilation
        self.weigh = Linear(kernel * inputs, outputs)
        nn.init.normal_(self.weigh.weight, std=(gain / (kernel * inputs)) ** 0.5)
        nn.init.zeros_(self.weigh.bias)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T + reach, D) to (B, T, outputs)."""
        length = x.shape[1] - self.reach
        starts = range(0, self.reach + 1, self.dilation)
        return self.weigh(torch.cat([x[:, i : i + length] for i in starts], dim=-1))

    def centred(self, x: Tensor) -> Tensor:
        """x (B, S, D) to (B, S, outputs): a position sees as far to the left as to the right."""
        side = self.reach // 2
        return self(functional.pad(x, (0, 0, side, side)))

    def begin(self, like: Tensor) -> Tensor:
        """The past (B, reach, D) before the first position: zeros, as around a whole sequence.

        `like` (B, ...) has its rows, device and type.
        """
        return like.new_zeros(len(like), self.reach, self.inputs)

    def causal(self, x: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        """The next positions x (R, T, D) to (R, T, outputs); each sees itself and earlier ones.

        `past` (R, reach, D) are the last inputs before these; the new past is returned, of the
        same size however long the sequence is.
        """
        x = torch.cat([past, x], dim=1)
        return self(x), x[:, x.shape[1] - self.reach :]


class ConvolutionalFeedForward(AnyFeedForward):
    """max(0, convolution(x)) W2 + b2: a position sees its neighbours as well. For encoders."""

    def __init__(self, width: int, inner: int, kernel: int) -> None:
        super().__init__()
        self.expand = Convolution(width, inner, kernel)
        self.contract = linear(inner, width)

    def forward(self, x: Tensor, positions: Positions) -> Tensor:
        x = x * positions.real[:, :, None]  # padding is not a neighbour
        return self.contract(torch.relu(self.expand.centred(x)))


class GatedConvolution(nn.Module):
    """h = A * sigmoid(B), where A and B are halves of convolution(norm(x)): a gated linear unit
    (Dauphin et al. 2016, arXiv 1612.08083).

    The paper normalises weights; here it is the input of each convolution. Weight normalisation
    recomputes every weight at each call, which a step of search pays for one token, and it
    relies on an initialisation and a rate tuned to it; layer norm keeps the scale whatever Adam
    does. The weights start as in the paper, with variance 4 (1 - dropout) / n for n inputs, so
    that h has about the variance of its input.
    """

    def __init__(self, width: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.norm = LayerNorm(width)
        self.dropout = Dropout(dropout)
        self.convolution = Convolution(width, 2 * width, kernel, gain=4 * (1 - dropout))

    def centred(self, x: Tensor, real: Tensor) -> Tensor:
        """x (B, S, D), real (B, S, 1) is 0 at positions that must not be seen, else 1."""
        return functional.glu(self.convolution.centred(self.dropout(self.norm(x)) * real))

    def causal(self, x: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        """x (R, T, D) after the past (R, reach, D)."""
        y, past = self.convolution.causal(self.dropout(self.norm(x)), past)
        return functional.glu(y), past


class StepAttention(nn.Module):
    """d = W h + g; a = softmax(d . z / sqrt(D)); c = W' sum over j of a_j v_j.

    A layer asks with its own h and with g, the embedding of the last token; keys z and values v
    of the source are the same in all layers (Gehring et al. 2017, arXiv 1705.03122). The paper
    has no sqrt(D): its vectors are small where these are normalised.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = linear(width, width)
        self.core = DotProductAttention(("target", "source"), scaled=True)
        self.output = linear(width, width)

    def forward(self, h: Tensor, embedded: Tensor, source: KeysValues, mask: Tensor) -> Tensor:
        """h and embedded (B x copies, T, D), keys and values (B, 1, S, D), mask (B, 1, 1, S).

        The hypotheses of a sentence are folded into its query axis.
        """
        query = (self.query(h) + embedded) * HALF
        query = query.reshape(len(mask), 1, -1, h.shape[-1])  # (B, 1, copies x T, D)
        return self.output(self.core(query, *source, mask).reshape(h.shape))


class GatedDecoderLayer(nn.Module):
    """A gated convolution over the target so far, then attention over the source, inside one
    residual connection: x' = ((h + c) sqrt(1/2) + x) sqrt(1/2)."""

    def __init__(self, width: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.gated = GatedConvolution(width, kernel, dropout)
        self.attention = StepAttention(width)

    def forward(
        self, x: Tensor, embedded: Tensor, source: KeysValues, mask: Tensor, past: Tensor
    ) -> tuple[Tensor, Tensor]:
        """x and embedded (B x copies, T, D) after the past (B x copies, reach, D)."""
        h, past = self.gated.causal(x, past)
        c = self.attention(h, embedded, source, mask)
        return ((h + c) * HALF + x) * HALF, past


class DilatedBlock(nn.Module):
    """x + W2 f(convolution(f(W1 f(x)))) with f(x) = relu(norm(x)); inside it is half as wide
    (Kalchbrenner et al. 2016, arXiv 1610.10099)."""

    def __init__(self, width: int, kernel: int, dilation: int, dropout: float) -> None:
        super().__init__()
        inner = width // 2
        self.norm = LayerNorm(width)
        self.narrow = linear(width, inner)
        self.inner_norm = LayerNorm(inner)
        self.convolution = Convolution(inner, inner, kernel, dilation, gain=2.0)
        self.outer_norm = LayerNorm(inner)
        self.widen = linear(inner, width)
        self.dropout = Dropout(dropout)

    def centred(self, x: Tensor, real: Tensor) -> Tensor:
        """x (B, S, D), real (B, S, 1) is 0 at positions that must not be seen, else 1."""
        return self._leave(x, self.convolution.centred(self._enter(x) * real))

    def causal(self, x: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        """x (R, T, D) after the past (R, reach, D / 2)."""
        y, past = self.convolution.causal(self._enter(x), past)
        return self._leave(x, y), past

    def _enter(self, x: Tensor) -> Tensor:
        return torch.relu(self.inner_norm(self.narrow(torch.relu(self.norm(x)))))

    def _leave(self, x: Tensor, y: Tensor) -> Tensor:
        return self.dropout.add(x, self.widen(torch.relu(self.outer_norm(y))))


class _ScaleGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0] * ctx.scale, None


def scale_gradient(x: Tensor, scale: float) -> Tensor:
    """x itself, while its gradient is scaled."""
    return _ScaleGradient.apply(x, scale)
