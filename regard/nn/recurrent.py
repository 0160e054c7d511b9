"""Recurrent parts: cells, the ways an encoder reads with them, the stack a decoder writes with."""

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
"""What a cell remembers: its hidden vector h (R, D), and an LSTM also the content c of its cell."""


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
        """The memory that begins with a hidden vector (R, D)."""
        return (hidden,)

    def enter(self, x: Tensor) -> Tensor:
        """W x + b, for one step or all at once: (..., inputs) to (..., gates x D)."""
        return affine(x, self.of_input, self.bias)

    @abstractmethod
    def step(self, entered: Tensor, memory: CellState) -> CellState:
        """The memory after one step, into which W x + b (R, gates x D) entered."""

    @abstractmethod
    def run(self, x: Tensor, memory: CellState) -> tuple[Tensor, CellState]:
        """All steps of x (R, T, inputs) in one kernel: each h (R, T, D), and the last memory."""

    def forward(self, x: Tensor, memory: CellState) -> tuple[Tensor, CellState]:
        """As `run`; but for a single step the kernel takes longer than its few operations."""
        if x.shape[1] > 1:
            return self.run(x, memory)
        memory = self.step(self.enter(x[:, 0]), memory)
        return memory[0][:, None], memory

    def read(self, x: Tensor) -> Tensor:
        """x (B, S, inputs) to (B, S, D), with nothing to remember at the start."""
        nothing = x.new_zeros(len(x), self.of_hidden.shape[1])
        return self(x, self.start(nothing))[0]

    def _weights(self) -> list[Tensor]:
        return [self.of_input, self.of_hidden, self.bias, self.no_bias]


class TanhCell(Cell):
    """h_t = tanh(U h_{t-1} + W x_t + b) (Elman 1990)."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(inputs, width, gates=1)

    def step(self, entered: Tensor, memory: CellState) -> CellState:
        return (torch.addmm(entered, memory[0], self.of_hidden.t()).tanh(),)

    def run(self, x: Tensor, memory: CellState) -> tuple[Tensor, CellState]:
        output, h = torch.rnn_tanh(
            x, memory[0][None], self._weights(), True, 1, 0.0, self.training, False, True
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

    def step(self, entered: Tensor, memory: CellState) -> CellState:
        h = memory[0]
        width = h.shape[1]
        before, before_new = (h @ self.of_hidden.t()).split([2 * width, width], dim=-1)
        entered, entered_new = entered.split([2 * width, width], dim=-1)
        r, z = (entered + before).sigmoid().chunk(2, dim=-1)
        n = torch.addcmul(entered_new, r, before_new).tanh()
        return (torch.lerp(n, h, z),)

    def run(self, x: Tensor, memory: CellState) -> tuple[Tensor, CellState]:
        output, h = torch.gru(
            x, memory[0][None], self._weights(), True, 1, 0.0, self.training, False, True
        )
        return output, (h[0],)


class LSTMCell(Cell):
    """Long short-term memory (Hochreiter & Schmidhuber 1997; Gers et al. 2000).

    i, f, o = sigmoid(U h + W x + b), each its own; n = tanh(U_n h + W_n x + b_n)
    c' = f * c + i * n;  h' = o * tanh(c')

    The forget gate's bias begins at 1, so that a cell keeps what it has before it learns to.
    """

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(inputs, width, gates=4)
        nn.init.ones_(self.bias.detach().chunk(4)[1])

    def start(self, hidden: Tensor) -> CellState:
        return hidden, torch.zeros_like(hidden)

    def step(self, entered: Tensor, memory: CellState) -> CellState:
        h, c = memory
        i, f, n, o = torch.addmm(entered, h, self.of_hidden.t()).chunk(4, dim=-1)
        c = f.sigmoid() * c + i.sigmoid() * n.tanh()
        return o.sigmoid() * c.tanh(), c

    def run(self, x: Tensor, memory: CellState) -> tuple[Tensor, CellState]:
        before = [tensor[None] for tensor in memory]
        output, h, c = torch.lstm(
            x, before, self._weights(), True, 1, 0.0, self.training, False, True
        )
        return output, (h[0], c[0])


def build_cell(kind: CellKind, inputs: int, width: int) -> Cell:
    if kind == "rnn":
        return TanhCell(inputs, width)
    return GRUCell(inputs, width) if kind == "gru" else LSTMCell(inputs, width)


class Forwards(nn.Module):
    """Reads from the first token to the last. Padding comes after all that is real."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Tensor, backwards: Tensor) -> Tensor:
        return self.cell.read(x)


class Backwards(nn.Module):
    """Reads from the last token to the first; what it wrote is put back in the first order."""

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
        self.ways = nn.ModuleList()
        if forwards > 0:
            self.ways.append(Forwards(build_cell(kind, width, forwards)))
        if forwards < width:
            self.ways.append(Backwards(build_cell(kind, width, width - forwards)))

    def forward(self, x: Tensor, backwards: Tensor) -> Tensor:
        """x (B, S, D) to (B, S, D); `backwards` (B, S) is the order of the backward reading."""
        return torch.cat([way(x, backwards) for way in self.ways], dim=-1)


def reversed_positions(mask: Tensor) -> Tensor:
    """The places (B, S) of each row backwards, padding left where it is; twice is no change."""
    places = torch.arange(mask.shape[1])
    return torch.where(mask, mask.sum(dim=1, keepdim=True) - 1 - places, places)


def reorder(x: Tensor, places: Tensor) -> Tensor:
    """x (B, S, D) with its places in another order (B, S)."""
    return x.gather(1, places[:, :, None].expand_as(x))


def ends(output: Tensor, mask: Tensor, forwards: int) -> Tensor:
    """Where reading (B, S, D) ended, (B, D): the last place of what was read forwards, the first
    of what was read backwards."""
    last = output[torch.arange(len(mask)), mask.sum(dim=1) - 1]
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
        """Each layer's memory before the first step: s_0 = tanh(W c), of c (B, D)."""
        hidden = self.begin(context).tanh().chunk(1 + len(self.upper), dim=-1)
        cells = [self.first, *(cast(Cell, cell) for cell in self.upper)]
        return tuple(cell.start(h) for cell, h in zip(cells, hidden, strict=True))

    def forward(
        self, x: Tensor, memories: tuple[CellState, ...]
    ) -> tuple[Tensor, tuple[CellState, ...]]:
        """x (R, T, inputs) to what the top layer writes, (R, T, D)."""
        written, memory = self.first(x, memories[0])
        return self._rise(written, memory, memories[1:])

    def split(self, known: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
        """Half of the work for inputs [known; fed] of which the second part comes step by step.

        known (R, T, D) gives what enters at each step (R, gates x D) so far; the matrix
        (inputs - D, gates x D) is for the rest.
        """
        of_known, of_fed = self.first.of_input.tensor_split([known.shape[-1]], dim=1)
        return functional.linear(known, of_known, self.first.bias).unbind(dim=1), of_fed.t()

    def step(
        self, entered: Tensor, memories: tuple[CellState, ...]
    ) -> tuple[Tensor, tuple[CellState, ...]]:
        """What entered the first cell (R, gates x D) to what the top layer writes, (R, 1, D)."""
        memory = self.first.step(entered, memories[0])
        return self._rise(memory[0][:, None], memory, memories[1:])

    def _rise(
        self, x: Tensor, first: CellState, memories: tuple[CellState, ...]
    ) -> tuple[Tensor, tuple[CellState, ...]]:
        after = [first]
        for cell, before in zip(self.upper, memories, strict=True):
            written, memory = cell(self.dropout(x), before)
            x = x + written if self.residual else written
            after.append(memory)
        return x, tuple(after)
