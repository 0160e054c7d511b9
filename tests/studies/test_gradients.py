"""The studies of gradients, softmax, order and cost respond to what they measure."""

from __future__ import annotations

import math

import pytest

from regard.studies import complexity, database, deep, exploding, order, saturation


def test_without_clipping_an_update_exceeds_the_threshold() -> None:
    bound = exploding.RATE * exploding.THRESHOLD
    clipped, plain = (exploding.train_cell(each, 1, 40) for each in (True, False))
    assert clipped.largest_update <= bound * 1.0001
    assert plain.largest_update > 10 * bound


def test_small_weights_do_not_explode() -> None:
    assert max(exploding.train_cell(False, 1, 5, gain=0.5).norms) < exploding.THRESHOLD * 5


def test_residual_connections_keep_the_gradient_of_a_deep_stack() -> None:
    plain = deep.gradient_ratio(deep.VARIANTS["plain"], 32, 1)
    kept = deep.gradient_ratio(deep.VARIANTS["residual, layer norm"], 32, 1)
    assert plain < 1e-4 < 0.5 < kept


def test_residual_connections_alone_make_the_gradient_grow_with_depth() -> None:
    ratios = [deep.gradient_ratio(deep.VARIANTS["residual"], depth, 1) for depth in (4, 16)]
    assert ratios[1] > deep.EXPLODED > ratios[0] > deep.KEPT


def test_a_shallow_stack_does_not_vanish() -> None:
    assert deep.gradient_ratio(deep.VARIANTS["plain"], 1, 1) > 0.1


def test_scaling_prevents_saturation_of_wide_heads_only() -> None:
    wide = [saturation.saturation(512, scaled, 1).entropy for scaled in (True, False)]
    narrow = [saturation.saturation(2, scaled, 1).entropy for scaled in (True, False)]
    assert wide[0] > 0.8
    assert wide[1] < 0.1
    assert narrow[1] > 0.5


def test_only_without_positions_is_the_order_not_seen() -> None:
    assert order.blindness("none", 1) < 1e-4
    assert min(order.blindness(kind, 1) for kind in order.POSITIONS if kind != "none") > 1e-2


def test_a_cold_look_up_is_exact_and_noise_spoils_it() -> None:
    right, error = database.look_up(0.01, 1)
    assert right == 1.0
    assert error < 1e-2
    assert database.look_up(0.01, 1, noise=5.0)[0] < 0.6


def growth(build: complexity.Build, lengths: tuple[int, ...]) -> float:
    return complexity.exponent(lambda n: complexity.operations(build, n), lengths)


@pytest.mark.parametrize("name", complexity.LAYERS)
def test_the_table_of_complexities(name: str) -> None:
    build, expected = complexity.LAYERS[name]
    if name in complexity.COUNTED:
        assert growth(build, (64, 128)) == pytest.approx(expected.exponent, abs=0.15)
    assert complexity.path(build, 16) <= expected.path(16)
    longer = complexity.sequential(build, 16) / complexity.sequential(build, 8)
    assert (longer > 1.5) is (name == "recurrent")


def test_the_path_of_a_convolution_is_as_long_as_its_input_and_dilation_shortens_it() -> None:
    plain, dilated = (
        complexity.LAYERS[name][0] for name in ("convolution, width 3", "dilated convolutions")
    )
    assert [complexity.path(plain, n) for n in (4, 8, 16)] == [3, 7, 15]
    assert [complexity.path(dilated, n) for n in (4, 8, 16)] == [2, 3, 4]
    assert math.isclose(growth(plain, (32, 64)), 1.0, abs_tol=0.05)


def test_operations_are_fitted_by_their_terms() -> None:
    attention, error = complexity.fit(complexity.LAYERS["self-attention"][0], (32, 64))
    recurrent, _ = complexity.fit(complexity.LAYERS["recurrent"][0], (8, 16))
    assert attention == pytest.approx([4, 0, 0], abs=0.01)
    assert recurrent == pytest.approx([0, 4, 0], abs=0.01)
    assert error < 1e-6


def test_only_the_fused_kernel_keeps_no_weights() -> None:
    plain, fused = (complexity.LAYERS[name][0] for name in ("self-attention", complexity.FUSED))
    assert complexity.kept(plain, 64) == 64**2
    assert complexity.kept(fused, 64) == 64 * complexity.WIDTH
