"""The Neural Turing Machine (Graves et al. 2014, arXiv 1410.5401): a controller that reads and
writes a memory by attention. One machine reads the source and, with the memory that this leaves
behind, writes the target."""

from __future__ import annotations

from typing import Literal, NamedTuple, Optional, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.config import MAX_COUNT, MAX_WIDTH
from regard.data.batch import BOS, Padded
from regard.models.base import (
    KIND,
    TYING,
    Decoder,
    Encoder,
    EncoderDecoder,
    EncoderDecoderFamily,
)
from regard.nn.addressing import BLANK, Heads
from regard.nn.blocks import Embedding
from regard.nn.embedding import Tying, share_embeddings
from regard.nn.linear import linear
from regard.nn.position import Position
from regard.nn.recurrent import CellState, LSTMCell
from regard.nn.state import Encoded, State

ControllerKind = Literal["feedforward", "lstm"]


class TuringConfig(EncoderDecoderFamily):
    """By default the machine of the paper's copy experiment with an LSTM as its controller."""

    kind: Literal["turing"] = Field(default="turing", description=KIND)
    controller: ControllerKind = Field(
        default="lstm",
        description="The network that steers the heads; a feedforward one has no state but "
        "the memory.",
    )
    width: int = Field(
        default=100, ge=2, le=MAX_WIDTH, description="Size of the embeddings and the controller."
    )
    slots: int = Field(
        default=128,
        ge=3,
        le=MAX_COUNT,
        description="Slots of the memory; no parameter depends on their number.",
    )
    slot_width: int = Field(
        default=20, ge=1, le=MAX_WIDTH, description="Size of the vector in each slot."
    )
    read_heads: int = Field(default=1, ge=1, le=16, description="Heads that read the memory.")
    write_heads: int = Field(default=1, ge=1, le=16, description="Heads that write the memory.")
    shift: int = Field(
        default=1,
        ge=1,
        le=MAX_COUNT,
        description="Largest number of slots that a head can move in one step.",
    )
    lookup: bool = Field(
        default=False,
        description="Read heads start by looking up in the memory what is read, rather than "
        "having to learn it: for associative recall.",
    )
    feed: bool = Field(
        default=True, description="Each step of writing reads the token written before."
    )
    tying: Tying = Field(default="target", description=TYING)
    dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Dropout probability of the embeddings."
    )
    smoothing: float = Field(default=0.0, ge=0, lt=1, description="Label smoothing.")

    @model_validator(mode="after")
    def _fits(self) -> TuringConfig:
        if self.slots < 2 * self.shift + 1:
            raise ValueError(f"a shift of {self.shift} needs {2 * self.shift + 1} slots or more")
        return self

    @property
    def mixed_precision(self) -> bool:
        return False  # shifted and sharpened weights lose their place

    def build(self, source_size: int, target_size: int) -> EncoderDecoder:
        source, target, weight = share_embeddings(source_size, target_size, self.width, self.tying)
        machine = Machine(self)
        return EncoderDecoder(
            TuringEncoder(self._words(source), machine),
            TuringDecoder(self._words(target), machine, self.feed),
            self.output(weight, target_size, self.width),
        )

    def _words(self, tokens: nn.Embedding) -> Embedding:
        """A machine knows the order of its input, so no position is added."""
        return Embedding(tokens, Position(), self.dropout)

    @classmethod
    def miniatures(cls) -> list[TuringConfig]:
        """Small members which together use every option; the contract tests run each."""
        small = cls(width=16, slots=10, slot_width=8)
        return [
            small,
            small.changed(controller="feedforward", read_heads=2, write_heads=2, tying="none"),
            small.changed(feed=False, shift=2, lookup=True),
            small.changed(copying=True),
            small.changed(tying="all", write_heads=2, smoothing=0.01),
        ]


class FeedForward(nn.Module):
    """h = tanh(W [x; r] + b): a controller whose only memory is the machine's."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.of_input = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width, inputs)))
        self.bias = nn.Parameter(torch.zeros(width))

    def start(self, hidden: Tensor) -> CellState:
        return (hidden,)

    def step(self, entered: Tensor, state: CellState) -> CellState:
        return (entered.tanh(),)


class MachineState(NamedTuple):
    """Everything a machine keeps between two steps."""

    memory: Tensor  # (R, N, M)
    weights: Tensor  # (R, H, N) of the heads, those that read first
    found: Tensor  # (R, reads x M) by the heads that read
    controller: CellState  # its h (R, D), and for an LSTM also c

    def where(self, running: Tensor, before: MachineState) -> MachineState:
        """This state in the rows (R,) that are running, the one before in the others."""
        memory, weights = (
            torch.where(running[:, None, None], new, old)
            for new, old in zip(self[:2], before[:2], strict=True)
        )
        found, *controller = (
            torch.where(running[:, None], new, old)
            for new, old in zip(
                (self.found, *self.controller), (before.found, *before.controller), strict=True
            )
        )
        return MachineState(memory, weights, found, tuple(controller))


class Machine(nn.Module):
    """h_t = controller(x_t, r_{t-1}); the heads, steered by h_t, read r_t and write; the output is
    W [h_t; r_t]."""

    def __init__(self, config: TuringConfig) -> None:
        super().__init__()
        self.width, self.slots, self.slot_width = config.width, config.slots, config.slot_width
        reads = config.read_heads * config.slot_width
        build = LSTMCell if config.controller == "lstm" else FeedForward
        self.controller = build(config.width + reads, config.width)
        self.heads = Heads(
            config.width,
            config.read_heads,
            config.write_heads,
            config.slot_width,
            config.shift,
            config.lookup,
        )
        self.first_found = nn.Parameter(torch.zeros(reads))
        self.readout = linear(config.width + reads, config.width)

    def start(self, rows: int) -> MachineState:
        """Before the first step: an empty memory."""
        learned = self.first_found
        memory = learned.new_full((rows, self.slots, self.slot_width), BLANK)
        return MachineState(
            memory,
            self.heads.start(memory),
            learned.expand(rows, -1),
            self.controller.start(learned.new_zeros(rows, self.width)),
        )

    def forward(
        self, x: Tensor, state: MachineState, mask: Optional[Tensor] = None
    ) -> tuple[Tensor, MachineState]:
        """T steps of x (R, T, D): the output (R, T, D), and the state after them.

        With a mask (R, T), a row stays as it is from its first step that is masked.
        """
        of_x, of_found = self.controller.of_input.split([x.shape[2], state.found.shape[1]], dim=1)
        entered = torch.addmm(self.controller.bias, x.flatten(0, 1), of_x.t())  # all steps at once
        whole = [True] * x.shape[1] if mask is None else mask.all(dim=0).tolist()
        outputs, weights = [], []
        for step, known in enumerate(entered.unflatten(0, x.shape[:2]).unbind(1)):
            before = state
            state = self._step(torch.addmm(known, before.found, of_found.t()), before)
            if mask is not None and not whole[step]:
                state = state.where(mask[:, step], before)
            outputs.append(torch.cat([state.controller[0], state.found], dim=1))
            weights.append(state.weights)
        self.heads.record(weights)
        return self.readout(torch.stack(outputs, dim=1)), state

    def _step(self, entered: Tensor, state: MachineState) -> MachineState:
        controller = self.controller.step(entered, state.controller)
        weights, found, memory = self.heads(controller[0], state.memory, state.weights)
        return MachineState(memory, weights, found, controller)


class TuringEncoder(Encoder):
    """Reads the source into the memory; where that ends is where the decoder begins."""

    def __init__(self, words: Embedding, machine: Machine) -> None:
        super().__init__()
        self.words = words
        self.machine = machine

    def forward(self, source: Padded) -> Encoded:
        x, mask = self.words(source.values), source.mask
        output, final = self.machine(x, self.machine.start(len(mask)), mask)
        return Encoded(output, mask, final)


TuringState = State[tuple[()], MachineState]


class TuringDecoder(Decoder[tuple[()], MachineState]):
    """The same machine, which goes on from where the encoder ended.

    Shared: nothing. Its past: the state of the machine. Without feeding, each step reads BOS: only
    that it is time to write, as in the paper, which gives no input then.
    """

    def __init__(self, words: Embedding, machine: Machine, feed: bool) -> None:
        super().__init__()
        self.words = words
        self.machine = machine
        self.feed = feed

    def start(self, encoded: Encoded) -> TuringState:
        return State(shared=(), past=cast(MachineState, encoded.final))

    def forward(self, tokens: Tensor, state: TuringState) -> tuple[Tensor, TuringState]:
        read = tokens if self.feed else torch.full_like(tokens, BOS)
        hidden, past = self.machine(self.words(read), state.past)
        return hidden, state.advance(past, by=tokens.shape[1])
