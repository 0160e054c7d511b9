"""An output that generates or copies: its probabilities, its loss and its gradients."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from regard.data.batch import EOS, PAD, Batch, Padded
from regard.models.convolutional import ByteNetConfig
from regard.models.recurrent import RecurrentConfig
from regard.nn.copying import Copying
from regard.nn.fast import mixture
from regard.nn.fast.mixture import chunked_mixture_loss, plain_mixture_loss
from regard.nn.fast.prepare import quantize
from regard.nn.output import Projection
from regard.nn.probe import capture
from regard.nn.state import Encoded, State

SIZE, WIDTH = 11, 6
SOURCE = Padded.of([[4, 5, 4, 12, EOS], [9, EOS]])  # 12 is not a choice
TARGET = torch.tensor([[4, 9, EOS], [9, 5, EOS]])


@pytest.fixture
def output() -> Copying:
    torch.manual_seed(1)
    weight = torch.nn.Parameter(torch.randn(SIZE + 3, WIDTH))
    return Copying(Projection(weight, 0.1, SIZE), WIDTH, 8)


def started(output: Copying) -> tuple[Tensor, State]:
    torch.manual_seed(2)
    encoded = Encoded(torch.randn(2, 5, 8), SOURCE.mask)
    hidden = torch.randn(2, 3, WIDTH, requires_grad=True)
    return hidden, State((), (), candidates=output.prepare(encoded, SOURCE))


def by_hand(output: Copying, hidden: Tensor, state: State) -> tuple[Tensor, Tensor]:
    """p of every choice (B, T, V), and that of the generator, by the formula and in loops."""
    keys, _, _ = state.candidates
    gate = output.gate(hidden).sigmoid()
    generated = (hidden @ output.generator.rows.t()).softmax(dim=-1)
    scores = output.query(hidden) @ keys.transpose(1, 2) / math.sqrt(WIDTH)
    copied = torch.zeros(2, 3, SIZE)
    for row, ids in enumerate(SOURCE.values.tolist()):
        known = [j for j, id in enumerate(ids) if id != PAD and id < SIZE]
        weights = scores[row][:, known].softmax(dim=-1)
        for j, weight in zip(known, weights.unbind(dim=1), strict=True):
            one = torch.zeros(SIZE)
            one[ids[j]] = 1
            copied[row] = copied[row] + weight[:, None] * one
    return gate * generated + (1 - gate) * copied, generated


def test_probabilities_are_those_of_the_formula_and_sum_to_one(output: Copying) -> None:
    hidden, state = started(output)
    found = output.scores(hidden, state).exp()
    torch.testing.assert_close(found, by_hand(output, hidden, state)[0])
    torch.testing.assert_close(found.sum(dim=-1), torch.ones(2, 3))


@pytest.mark.parametrize("training", [False, True])
def test_the_loss_is_that_of_the_mixture_with_a_smoothed_generator(
    output: Copying, training: bool
) -> None:
    output.train(training)
    hidden, state = started(output)
    mask = torch.tensor([[True, True, True], [True, True, False]])
    loss = output.loss(hidden, state, TARGET, mask)
    mixed, generated = by_hand(output, hidden, state)
    nll = -mixed.gather(2, TARGET[:, :, None])[:, :, 0].log()[mask]
    spread = -generated.log().mean(dim=-1)[mask]
    smoothing = 0.1 if training else 0.0
    expected = (1 - smoothing) * nll.sum() + smoothing * spread.sum()
    torch.testing.assert_close(loss.total, expected)
    torch.testing.assert_close(loss.nll, nll.detach())
    assert loss.tokens == 5
    sources = [hidden, *output.parameters()]
    torch.testing.assert_close(
        torch.autograd.grad(loss.total * 0.3, sources, retain_graph=True),
        torch.autograd.grad(expected * 0.3, sources),
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [1, 7, 256])
def test_the_chunked_mixture_is_the_plain_one(
    smoothing: float, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixture, "CHUNK_MIN_ROWS", rows)
    monkeypatch.setattr(mixture, "CHUNK_SCORES", 1)
    torch.manual_seed(2)
    hidden, weight = torch.randn(30, 6), torch.randn(40, 6)
    generate = torch.rand(30).log()
    copied = (1 - generate.exp()).log() + torch.rand(30).log()
    copied[::3] = -1e30
    sources = [each.requires_grad_() for each in (hidden, weight, generate, copied)]
    target = torch.randint(0, 40, (30,))
    found, plain = (
        make(hidden, weight, target, smoothing, generate, copied)
        for make in (chunked_mixture_loss, plain_mixture_loss)
    )
    torch.testing.assert_close(found, plain)
    torch.testing.assert_close(
        torch.autograd.grad(found[0] * 0.3, sources), torch.autograd.grad(plain[0] * 0.3, sources)
    )


def test_what_the_source_does_not_have_leaves_finite_gradients(output: Copying) -> None:
    hidden, state = started(output)
    nowhere = torch.full_like(TARGET, 10)
    output.loss(hidden * 1e3, state, nowhere, torch.ones(2, 3).bool()).total.backward()
    for parameter in output.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()


def test_a_shortlist_has_the_copies_that_are_on_it(output: Copying) -> None:
    choices = torch.tensor([0, 1, 2, 3, 5, 9])
    hidden, state = started(output)
    narrowed = output.narrow(choices)
    encoded = Encoded(torch.zeros(2, 5, 8), SOURCE.mask)
    source = narrowed.prepare(encoded, SOURCE)
    assert source.choices.tolist() == [[0, 4, 0, 0, 2], [5, 2, 0, 0, 0]]
    assert (source.mask == 0).tolist() == [
        [False, True, False, False, True],
        [True] * 2 + [False] * 3,
    ]
    found = narrowed.scores(hidden, State((), (), candidates=source)).exp()
    assert found.shape == (2, 3, 6)
    torch.testing.assert_close(found.sum(dim=-1), torch.ones(2, 3))
    whole = output.scores(hidden, state)
    same = output.narrow(torch.arange(SIZE)).scores(hidden, state)
    torch.testing.assert_close(same, whole)


def test_a_probe_is_given_what_is_copied_from_each_position(output: Copying) -> None:
    hidden, state = started(output)
    with capture(output) as weights:
        scores = output.scores(hidden, state)
    (copied,) = weights["attention"]
    assert copied.shape == (2, 1, 3, 5)
    torch.testing.assert_close(copied[:, 0].sum(dim=-1), 1 - output.gate(hidden).sigmoid()[:, :, 0])
    assert not copied[0, 0, :, 3].any()  # no choice
    assert not copied[1, 0, :, 2:].any()  # padding
    assert bool((scores.exp()[0, :, 5] >= copied[0, 0, :, 1]).all())


def test_eight_bits_give_nearly_the_same_probabilities() -> None:
    torch.manual_seed(3)
    model = RecurrentConfig(width=32, copying=True).build(40, 40).eval()
    batch = Batch(Padded.of([[7, 8, 9, EOS]]), Padded.of([[8, 9, EOS]]))
    small = quantize(model)
    assert isinstance(small.output, Copying)
    torch.testing.assert_close(
        small.log_probabilities(batch), model.log_probabilities(batch), rtol=0.05, atol=0.05
    )


def test_positions_that_an_encoder_adds_are_not_copied() -> None:
    """ByteNet unfolds a source over more positions than it has."""
    torch.manual_seed(3)
    model = ByteNetConfig(layers=1, width=8, copying=True).build(20, 20).eval()
    source = Padded.of([[7, 8, 9, EOS], [5, EOS]])
    candidates = model.start(source).candidates
    assert candidates.keys.shape == (2, 4, 8)
    assert torch.equal(candidates.choices, source.values)
