"""Recurrent parts: cells, the layers of an encoder, and the stack of a decoder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.nn.dropout import Dropout
from regard.nn.fast.products import affine
from regard.nn.linear import linear

CellKind = Literal["rnn", "gru", "lstm"]

CellState = tuple[Tensor, ...]
"""The hidden vector h (R, D) of a cell, and for an LSTM also its content c."""


class Cell(nn.Module, ABC):
    """One layer of recurrence: W x + b comes from the input, U h from the step before.

    One bias is enough for the equations. The gates are stacked in the order of torch's kernels,
    so a single step and a whole sequence in one kernel use the same three tensors.
    """

    def __init__(self, inputs: int, width: int, gates: int) -> None:
        super().__init__()
        self.of_input = nn.Parameter(torch.empty(gates * width, inputs))
        self.of_hidden = nn.Parameter(torch.empty(gates * width, width))
        self.bias = nn.Parameter(torch.zeros(gates * width))
        self.register_buffer("no_bias", torch.zeros(gates * width), persistent=False)
        self.no_bias: Tensor
        for gate in self.of_input.detach().chunk(gates):
            nn.init.xavier_uniform_(gate)
        for gate in self.of_hidden.detach().chunk(gates):
            nn.init.orthogonal_(gate)

    def start(self, hidden: Tensor) -> CellState:
        """The state that starts with a hidden vector (R, D)."""
        return (hidden,)

    def enter(self, x: Tensor) -> Tensor:
        """W x + b, for one step or all at once: (..., inputs) to (..., gates x D)."""
        return affine(x, self.of_input, self.bias)

    @abstractmethod
    def step(self, entered: Tensor, state: CellState) -> CellState:
        """The state after one step, into which W x + b (R, gates x D) entered."""

    @abstractmethod
    def run(self, x: Tensor, state: CellState) -> tuple[Tensor, CellState]:
        """All steps of x (R, T, inputs) in one kernel: each h (R, T, D), and the last state."""

    def forward(self, x: Tensor, state: CellState) -> tuple[Tensor, CellState]:
        """As `run`; for a single step the kernel takes longer than its few operations."""
        if x.shape[1] > 1:
            return self.run(x, state)
        state = self.step(self.enter(x[:, 0]), state)
        return state[0][:, None], state

    def read(self, x: Tensor) -> Tensor:
        """x (B, S, inputs) to (B, S, D), starting from zeros."""
        nothing = x.new_zeros(len(x), self.of_hidden.shape[1])
        return self(x, self.start(nothing))[0]

    def _weights(self) -> list[Tensor]:
        return [self.of_input, self.of_hidden, self.bias, self.no_bias]


class TanhCell(Cell):
    """h_t = tanh(U h_{t-1} + W x_t + b) (Elman 1990)."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(inputs, width, gates=1)

    def step(self, entered: Tensor, state: CellState) -> CellState:
        return (torch.addmm(entered, state[0], self.of_hidden.t()).tanh(),)

    def run(self, x: Tensor, state: CellState) -> tuple[Tensor, CellState]:
        output, h = torch.rnn_tanh(
            x, state[0][None], self._weights(), True, 1, 0.0, self.training, False, True
        )
        return output, (h[0],)


class GRUCell(Cell):
    """Gated recurrent unit (Cho et al. 2014, arXiv 1406.1078).

    r = sigmoid(U_r h + W_r x + b_r)            what to forget for the new content
    z = sigmoid(U_z h + W_z x + b_z)            what to keep
    n = tanh(r * (U_n h) + W_n x + b_n)         the new content
    h' = z * h + (1 - z) * n

    The paper has U_n (r * h); all fused kernels have r * (U_n h), and so has this.
    """

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(inputs, width, gates=3)

    def step(self, entered: Tensor, state: CellState) -> CellState:
        h = state[0]
        width = h.shape[1]
        before, before_new = (h @ self.of_hidden.t()).split([2 * width, width], dim=-1)
        entered, entered_new = entered.split([2 * width, width], dim=-1)
        r, z = (entered + before).sigmoid().chunk(2, dim=-1)
        n = torch.addcmul(entered_new, r, before_new).tanh()
        return (torch.lerp(n.to(h.dtype), h, z.to(h.dtype)),)

    def run(self, x: Tensor, state: CellState) -> tuple[Tensor, CellState]:
        output, h = torch.gru(
            x, state[0][None], self._weights(), True, 1, 0.0, self.training, False, True
        )
        return output, (h[0],)


class LSTMCell(Cell):
    """Long short-term memory (Hochreiter & Schmidhuber 1997; Gers et al. 2000).

    i, f, o = sigmoid(U h + W x + b), each its own; n = tanh(U_n h + W_n x + b_n)
    c' = f * c + i * n;  h' = o * tanh(c')

    The forget gate's bias starts at 1, so that a cell keeps its content before it learns to.
    """

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(inputs, width, gates=4)
        nn.init.ones_(self.bias.detach().chunk(4)[1])

    def start(self, hidden: Tensor) -> CellState:
        return hidden, torch.zeros_like(hidden)

    def step(self, entered: Tensor, state: CellState) -> CellState:
        h, c = state
        i, f, n, o = torch.addmm(entered, h, self.of_hidden.t()).chunk(4, dim=-1)
        c = f.sigmoid() * c + i.sigmoid() * n.tanh()
        return o.sigmoid() * c.tanh(), c

    def run(self, x: Tensor, state: CellState) -> tuple[Tensor, CellState]:
        if x.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            # oneDNN has no LSTM in bfloat16 for processors without AVX-512.
            with torch.autocast("cpu", enabled=False):
                return self.run(x.float(), tuple(each.float() for each in state))
        before = [tensor[None] for tensor in state]
        output, h, c = torch.lstm(
            x, before, self._weights(), True, 1, 0.0, self.training, False, True
        )
        return output, (h[0], c[0])


def build_cell(kind: CellKind, inputs: int, width: int) -> Cell:
    if kind == "rnn":
        return TanhCell(inputs, width)
    return GRUCell(inputs, width) if kind == "gru" else LSTMCell(inputs, width)


class Forwards(nn.Module):
    """Reads from the first token to the last. Padding comes last."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Tensor, backwards: Tensor) -> Tensor:
        return self.cell.read(x)


class Backwards(nn.Module):
    """Reads from the last token to the first; what it wrote is put back in the original order."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Tensor, backwards: Tensor) -> Tensor:
        return reorder(self.cell.read(reorder(x, backwards)), backwards)


class RecurrentLayer(nn.Module):
    """One layer of an encoder. The first columns of its output come from reading forwards, the
    others from reading backwards (Schuster & Paliwal 1997)."""

    def __init__(self, kind: CellKind, width: int, forwards: int) -> None:
        super().__init__()
        self.directions = nn.ModuleList()
        if forwards > 0:
            self.directions.append(Forwards(build_cell(kind, width, forwards)))
        if forwards < width:
            self.directions.append(Backwards(build_cell(kind, width, width - forwards)))

    def forward(self, x: Tensor, backwards: Tensor) -> Tensor:
        """x (B, S, D) to (B, S, D); `backwards` (B, S) is the order of the backward reading."""
        return torch.cat([direction(x, backwards) for direction in self.directions], dim=-1)


def reversed_positions(mask: Tensor) -> Tensor:
    """The positions (B, S) of each row reversed, except padding; its own inverse."""
    positions = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask, mask.sum(dim=1, keepdim=True) - 1 - positions, positions)


def reorder(x: Tensor, positions: Tensor) -> Tensor:
    """x (B, S, D) in another order of positions (B, S)."""
    return x.gather(1, positions[:, :, None].expand_as(x))


def ends(output: Tensor, mask: Tensor, forwards: int) -> Tensor:
    """Where reading (B, S, D) ended, (B, D): the last position of what was read forwards, the
    first of what was read backwards."""
    last = output[torch.arange(len(mask), device=mask.device), mask.sum(dim=1) - 1]
    return torch.cat([last[:, :forwards], output[:, 0, forwards:]], dim=-1)


class Stack(nn.Module):
    """The cells of a decoder, each reading what the one below wrote.

    With residual connections a layer above the first adds what it writes to what it read
    (Wu et al. 2016, arXiv 1609.08144).
    """

    def __init__(
        self, kind: CellKind, inputs: int, width: int, layers: int, residual: bool, dropout: float
    ) -> None:
        super().__init__()
        self.begin = linear(width, layers * width, parts=layers)
        self.first = build_cell(kind, inputs, width)
        self.upper = nn.ModuleList(build_cell(kind, width, width) for _ in range(layers - 1))
        self.residual = residual
        self.dropout = Dropout(dropout)

    def start(self, context: Tensor) -> tuple[CellState, ...]:
        """Each layer's state before the first step: s_0 = tanh(W c), of c (B, D)."""
        hidden = self.begin(context).tanh().chunk(1 + len(self.upper), dim=-1)
        cells = [self.first, *(cast(Cell, cell) for cell in self.upper)]
        return tuple(cell.start(h) for cell, h in zip(cells, hidden, strict=True))

    def forward(
        self, x: Tensor, states: tuple[CellState, ...]
    ) -> tuple[Tensor, tuple[CellState, ...]]:
        """x (R, T, inputs) to what the top layer writes, (R, T, D)."""
        written, state = self.first(x, states[0])
        return self._upper_layers(written, state, states[1:])

    def split(self, known: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
        """Half of the work for inputs [known; fed] of which the second part comes step by step.

        known (R, T, D) gives what enters at each step (R, gates x D) so far; the matrix
        (inputs - D, gates x D) is for the rest.
        """
        of_known, of_fed = self.first.of_input.tensor_split([known.shape[-1]], dim=1)
        return functional.linear(known, of_known, self.first.bias).unbind(dim=1), of_fed.t()

    def step(
        self, entered: Tensor, states: tuple[CellState, ...]
    ) -> tuple[Tensor, tuple[CellState, ...]]:
        """What entered the first cell (R, gates x D) to what the top layer writes, (R, 1, D)."""
        state = self.first.step(entered, states[0])
        return self._upper_layers(state[0][:, None], state, states[1:])

    def _upper_layers(
        self, x: Tensor, first: CellState, states: tuple[CellState, ...]
    ) -> tuple[Tensor, tuple[CellState, ...]]:
        after = [first]
        for cell, before in zip(self.upper, states, strict=True):
            written, state = cell(self.dropout(x), before)
            x = x + written if self.residual else written
            after.append(state)
        return x, tuple(after)
