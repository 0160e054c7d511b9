"""Vanishing gradients respond to what they are said to depend on."""

from __future__ import annotations

import math

import pytest
import torch

from regard.nn.recurrent import LSTMCell
from regard.studies import vanishing
from regard.studies.laboratory import Laboratory


@pytest.mark.parametrize("eigenvalue", [0.5, 0.9, 1.0, 1.2])
def test_the_gradient_follows_the_eigenvalue(eigenvalue: float) -> None:
    assert vanishing.decay_of_linear(eigenvalue) == pytest.approx(math.log(eigenvalue), abs=1e-3)


def test_of_several_eigenvalues_the_largest_decides() -> None:
    assert vanishing.decay_of_linear(0.9, 0.6) == pytest.approx(math.log(0.9), abs=1e-3)
    assert vanishing.decay_of_linear(0.6, 0.9) == pytest.approx(math.log(0.9), abs=1e-3)


def test_reach_is_interpolated() -> None:
    assert vanishing.reach([1, 2, 3], [1.0, 0.1, 0.001]) == pytest.approx(2.5)
    assert vanishing.reach([1, 2, 3], [1.0, 0.9, 0.8]) == 3.0


@pytest.mark.parametrize(("bias", "remembers"), [(5.0, True), (-5.0, False)])
def test_with_a_closed_forget_gate_the_memory_of_an_lstm_vanishes(
    bias: float, remembers: bool
) -> None:
    torch.manual_seed(1)
    cell = LSTMCell(4, 4)
    with torch.no_grad():
        cell.of_hidden.zero_()
        cell.bias[4:8] = bias  # the gates are input, forget, content, output
    first = torch.ones(1, 4, requires_grad=True)
    state = (torch.zeros(1, 4), first)
    for _ in range(20):
        state = cell.step(cell.enter(torch.zeros(1, 4)), state)
    (grad,) = torch.autograd.grad(state[1].sum(), first)
    assert (float(grad.norm()) > 0.5) is remembers


def test_the_reach_of_a_trained_lstm_depends_on_its_forget_gates(laboratory: Laboratory) -> None:
    data, valid = vanishing.text_of(laboratory)
    recipe, settings = vanishing.VARIANTS["LSTM"]
    run = laboratory.trained(recipe, data, valid, 20, 1, [*settings, *vanishing.SETTINGS])
    distances = [1, 2, 3, 5, 10, 20]
    reaches = []
    for bias in (-10.0, 0.0, 6.0):
        norms = vanishing.gradient_norms(laboratory, run, valid, distances, bias)
        reaches.append(vanishing.reach(distances, norms))
    assert 2 * reaches[0] < reaches[1] < 15 < reaches[2], reaches


def test_the_sentences_of_a_line_have_a_noun_in_common() -> None:
    given = ["Der Hund bellt.", "Ein Hund rennt.", "Die Katze schläft.", "Am Abend schläft Hund."]
    assert list(vanishing.by_noun(given, 2)) == [[given[0], given[1]]]
    assert list(vanishing.by_noun(given, 3)) == [[given[0], given[1], given[3]]]


def test_the_quick_form_measures_all_variants(laboratory: Laboratory) -> None:
    found = vanishing.STUDY.measure(laboratory)
    assert found.numbers["reach, LSTM"].value > found.numbers["reach, tanh"].value
    assert len(found.charts[0].lines) == len(vanishing.VARIANTS)
