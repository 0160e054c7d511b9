"""Recurrent cells against their equations, and the options of the family against each other."""

from __future__ import annotations

from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from regard.config import check
from regard.data.batch import EOS, Batch, Padded
from regard.errors import UsageError
from regard.models.base import EncoderDecoder
from regard.models.recurrent import RecurrentConfig
from regard.nn.probe import capture
from regard.nn.recurrent import (
    Cell,
    CellKind,
    CellState,
    GRUCell,
    LSTMCell,
    RecurrentLayer,
    Stack,
    TanhCell,
    build_cell,
    ends,
    reversed_positions,
)

R, T, INPUTS, WIDTH, SIZE = 3, 5, 6, 4, 23
CELLS = pytest.mark.parametrize("kind", get_args(CellKind))


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(1)


def some_cell(kind: CellKind) -> Cell:
    cell = build_cell(kind, INPUTS, WIDTH)
    torch.nn.init.normal_(cell.bias)
    return cell


def by_hand(kind: CellKind, cell: Cell, x: Tensor, memory: CellState) -> CellState:
    """The memory of one row after one more x, gate by gate."""
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
    w, u, b = (tensor.chunk(gates) for tensor in (cell.of_input, cell.of_hidden, cell.bias))
    h = memory[0]
    came = [w[gate] @ x + b[gate] for gate in range(gates)]
    if kind == "rnn":
        return (torch.tanh(u[0] @ h + came[0]),)
    if kind == "gru":
        r, z = torch.sigmoid(u[0] @ h + came[0]), torch.sigmoid(u[1] @ h + came[1])
        n = torch.tanh(r * (u[2] @ h) + came[2])
        return (z * h + (1 - z) * n,)
    i, f = torch.sigmoid(u[0] @ h + came[0]), torch.sigmoid(u[1] @ h + came[1])
    n, o = torch.tanh(u[2] @ h + came[2]), torch.sigmoid(u[3] @ h + came[3])
    c = f * memory[1] + i * n
    return o * torch.tanh(c), c


def by_steps(cell: Cell, x: Tensor, memory: CellState) -> tuple[Tensor, CellState]:
    written = []
    for entered in cell.enter(x).unbind(dim=1):
        memory = cell.step(entered, memory)
        written.append(memory[0])
    return torch.stack(written, dim=1), memory


@CELLS
def test_a_cell_keeps_to_its_equations(kind: CellKind) -> None:
    cell, x = some_cell(kind), torch.randn(R, T, INPUTS)
    start = tuple(torch.randn(R, WIDTH) for _ in cell.start(torch.zeros(R, WIDTH)))
    _, found = by_steps(cell, x, start)
    for row in range(R):
        memory: CellState = tuple(part[row] for part in start)
        for token in x[row]:
            memory = by_hand(kind, cell, token, memory)
        torch.testing.assert_close(tuple(part[row] for part in found), memory)


@CELLS
@pytest.mark.parametrize("training", [True, False])
def test_the_kernel_equals_the_steps(kind: CellKind, training: bool) -> None:
    cell = some_cell(kind).train(training)
    x, hidden = (torch.randn(*shape, requires_grad=True) for shape in ((R, T, INPUTS), (R, WIDTH)))
    whole, steps = cell.run(x, cell.start(hidden)), by_steps(cell, x, cell.start(hidden))
    torch.testing.assert_close(whole, steps)
    weights = torch.randn(R, T, WIDTH)
    sources = [x, hidden, *cell.parameters()]
    torch.testing.assert_close(
        torch.autograd.grad((whole[0] * weights).sum() + whole[1][-1].sum(), sources),
        torch.autograd.grad((steps[0] * weights).sum() + steps[1][-1].sum(), sources),
    )


@CELLS
def test_one_token_more_goes_on_from_the_memory(kind: CellKind) -> None:
    cell, x = some_cell(kind), torch.randn(R, T, INPUTS)
    start = cell.start(torch.randn(R, WIDTH))
    whole, last = cell(x, start)
    _, memory = cell(x[:, :-1], start)
    written, memory = cell(x[:, -1:], memory)
    torch.testing.assert_close(written, whole[:, -1:])
    torch.testing.assert_close(memory, last)


def test_the_start_of_the_weights() -> None:
    for cell in (TanhCell(INPUTS, WIDTH), GRUCell(INPUTS, WIDTH), LSTMCell(INPUTS, WIDTH)):
        for gate in cell.of_hidden.detach().split(WIDTH):
            torch.testing.assert_close(gate @ gate.t(), torch.eye(WIDTH))
    assert LSTMCell(INPUTS, WIDTH).bias.split(WIDTH)[1].tolist() == [1.0] * WIDTH


@CELLS
def test_reading_backwards_is_reading_each_row_turned_round(kind: CellKind) -> None:
    layer, x, lengths = RecurrentLayer(kind, WIDTH, forwards=1), torch.randn(R, T, WIDTH), [5, 3, 1]
    mask = torch.arange(T) < torch.tensor(lengths)[:, None]
    output = layer(x, reversed_positions(mask))
    ended = ends(output, mask, forwards=1)
    there, back = (way.cell for way in layer.directions)
    for row, length in enumerate(lengths):
        real = x[row : row + 1, :length]
        forwards, backwards = there.read(real)[0], back.read(real.flip(1))[0]
        torch.testing.assert_close(output[row, :length, :1], forwards)
        torch.testing.assert_close(output[row, :length, 1:], backwards.flip(0))
        torch.testing.assert_close(ended[row], torch.cat([forwards[-1], backwards[-1]]))


@CELLS
@pytest.mark.parametrize("residual", [True, False])
def test_a_stack_does_by_steps_what_it_does_at_once(kind: CellKind, residual: bool) -> None:
    stack = Stack(kind, 2 * WIDTH, WIDTH, layers=3, residual=residual, dropout=0.0)
    known, fed = torch.randn(R, T, WIDTH), torch.randn(R, T, WIDTH)
    memories = stack.start(torch.randn(R, WIDTH))
    whole, last = stack(torch.cat([known, fed], dim=-1), memories)
    entered, of_fed = stack.split(known)
    written = []
    for place, so_far in enumerate(entered):
        step, memories = stack.step(torch.addmm(so_far, fed[:, place], of_fed), memories)
        written.append(step)
    torch.testing.assert_close(torch.cat(written, dim=1), whole)
    torch.testing.assert_close(memories, last)


def test_a_residual_stack_adds_up_what_its_layers_write() -> None:
    stack = Stack("gru", WIDTH, WIDTH, layers=3, residual=True, dropout=0.0)
    x, memories = torch.randn(R, T, WIDTH), stack.start(torch.randn(R, WIDTH))
    cells = [stack.first, *stack.upper]
    total = torch.zeros(R, T, WIDTH)
    for number, (cell, memory) in enumerate(zip(cells, memories, strict=True)):
        total = total + cell(total if number else x, memory)[0]
    torch.testing.assert_close(stack(x, memories)[0], total)


def build(**settings: Any) -> EncoderDecoder:
    torch.manual_seed(0)
    config = check(RecurrentConfig, {"width": 16, "dropout": 0.0, **settings})
    return config.build(SIZE, SIZE).eval()


def some_batch() -> Batch:
    source = Padded.of([[7, 8, 9, 10, EOS], [11, 12, EOS]])
    return Batch(source, Padded.of([[5, 6, 7, EOS], [8, 9, EOS]]))


def same_weights(first: EncoderDecoder, second: EncoderDecoder) -> None:
    second.load_state_dict(first.state_dict())


@torch.no_grad()
def test_residual_connections_change_the_result() -> None:
    for attention in ("none", "before", "after"):
        plain, residual = (
            build(layers=2, attention=attention, residual=residual) for residual in (False, True)
        )
        same_weights(plain, residual)
        assert not torch.allclose(plain.read(some_batch())[0], residual.read(some_batch())[0])


@torch.no_grad()
@pytest.mark.parametrize("attention", ["none", "before", "after"])
def test_backward_reads_the_reversed_source(attention: str) -> None:
    forward, backward = (
        build(direction=direction, layers=2, attention=attention)
        for direction in ("forward", "backward")
    )
    same_weights(forward, backward)
    batch = some_batch()
    turned = Batch(Padded.of([[EOS, 10, 9, 8, 7], [EOS, 12, 11]]), batch.target)
    torch.testing.assert_close(forward.read(turned)[0], backward.read(batch)[0])
    assert not torch.allclose(forward.read(batch)[0], backward.read(batch)[0])


@torch.no_grad()
@pytest.mark.parametrize("settings", [{"attention": "before"}, {"attention": "after"}])
def test_weights_are_in_the_order_of_the_source_as_it_was_given(settings: dict[str, Any]) -> None:
    forward, backward = (
        build(direction=direction, **settings) for direction in ("forward", "backward")
    )
    same_weights(forward, backward)
    batch = some_batch().rows(0, 1)
    with capture(forward) as given, capture(backward) as captured:
        forward.read(Batch(Padded.of([[EOS, 10, 9, 8, 7]]), batch.target))
        backward.read(batch)
    (turned,), (weights,) = given["decoder.attention"], captured["decoder.attention"]
    assert weights.shape == (1, 1, 4, 5)
    torch.testing.assert_close(weights, turned.flip(-1))


@torch.no_grad()
def test_input_feeding_is_attention_after_the_step_and_what_it_found() -> None:
    plain = build(attention="after")
    fed = build(attention="after", input_feeding=True)
    of_input = fed.state_dict()["decoder.stack.first.of_input"]
    of_word, of_fed = of_input.chunk(2, dim=1)
    plain.load_state_dict({**fed.state_dict(), "decoder.stack.first.of_input": of_word})
    batch = some_batch()
    without, found = plain.read(batch)[0], fed.read(batch)[0]
    torch.testing.assert_close(found[:, 0], without[:, 0])
    assert not torch.allclose(found[:, 1:], without[:, 1:])
    of_fed.zero_()
    torch.testing.assert_close(fed.read(batch)[0], without)


@CELLS
@pytest.mark.parametrize("attention", ["none", "after"])
def test_a_target_known_in_advance_is_read_in_one_kernel(
    kind: CellKind, attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build(cell=kind, attention=attention, layers=2).train()

    def refuse(*_: object) -> CellState:
        raise AssertionError("a step was taken")

    for cell in (TanhCell, GRUCell, LSTMCell):
        monkeypatch.setattr(cell, "step", refuse)
    model(some_batch()).total.backward()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"width": 15}, "a bidirectional encoder needs an even width"),
        ({"input_feeding": True}, "input feeding needs attention=after"),
        ({"attention": "none", "input_feeding": True}, "input feeding needs attention=after"),
        ({"residual": True}, "residual connections need a second layer"),
        ({"layers": 5}, "'layers' cannot be 5: give 4 or less"),
        ({"cell": "lstn"}, "'cell' cannot be 'lstn': choose one of rnn, gru or lstm"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        check(RecurrentConfig, settings)


def test_an_odd_width_is_enough_to_read_one_way() -> None:
    assert check(RecurrentConfig, {"width": 15, "direction": "backward"}).forwards == 0
