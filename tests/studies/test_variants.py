"""Studies that compare variants: the variants differ in what is compared, and measures respond."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from regard.config import override
from regard.recipes import find_recipe
from regard.recipes.config import Config
from regard.studies import (
    attention_layers,
    embedding_scale,
    heads,
    nonlinearity,
    normalisation,
    recurrent_layers,
    regularisation,
    warmup,
)
from regard.studies.ablation import Ablation
from regard.studies.grammar_task import SETTINGS, TRANSFORMER, GrammarTask
from regard.studies.laboratory import Laboratory
from regard.training.plan import Plan


def config(settings: Sequence[str] = (), recipe: str = "tiny") -> Config:
    base = (*SETTINGS, *(TRANSFORMER if recipe == "tiny" else ()))
    return override(find_recipe(recipe), [*base, *settings])


def parameters(settings: Sequence[str] = (), recipe: str = "tiny") -> int:
    model = config(settings, recipe).model.build(60, 60)
    return sum(each.numel() for each in model.parameters())


def test_what_is_learned_shows_in_the_loss(laboratory: Laboratory) -> None:
    """The measure of most studies: a model that cannot learn has a higher loss than one that can,
    and so has one whose dropout loses nearly everything."""
    task = GrammarTask(laboratory)
    task.steps = 20
    learned, still, lost = (
        task.losses(settings)[0]
        for settings in ([], ["training.optimizer.rate=1e-9"], ["model.dropout=0.9"])
    )
    assert learned < min(still, lost) - 0.1


def test_any_number_of_heads_has_the_same_cost() -> None:
    assert len({parameters([f"model.heads={number}"]) for number in heads.HEADS}) == 1


def test_where_heads_look() -> None:
    size = 6
    for offset, place in ((-1, "the one before"), (0, "itself"), (1, "the one after")):
        found = heads.places(np.eye(size, k=offset, dtype=np.float32))
        assert found[heads.PLACES.index(place)] == pytest.approx(1)
        assert found.sum() == pytest.approx(1)
    end = np.zeros((size, size), np.float32)
    end[:, -1] = 1
    assert heads.places(end)[heads.PLACES.index("the end")] == pytest.approx(0.75)  # once: after
    spread = heads.places(np.full((size, size), 1 / size, np.float32))
    assert spread[heads.PLACES.index("elsewhere")] > 0.3


def test_heads_that_look_at_the_same_have_no_distance() -> None:
    same, one, other = np.full((4, 4), 0.25), np.eye(4), np.eye(4, k=1) + np.eye(4, k=-3)
    assert heads.distance(np.stack([same, same])) == 0
    assert heads.distance(np.stack([one, other])) == 1


def test_the_feed_forward_network_is_left_out_and_a_layer_more_makes_up_for_its_weights() -> None:
    with_, without, deeper = (parameters(each) for each in nonlinearity.VARIANTS.values())
    assert without < deeper < with_


@pytest.mark.parametrize("batch", [True, False])
def test_only_with_batch_norm_a_row_depends_on_the_others(batch: bool) -> None:
    assert (normalisation.dependence(batch) > 0.01) is batch


def test_the_factor_makes_embeddings_as_large_as_positions() -> None:
    scaled, plain = (embedding_scale.size_ratio(each) for each in (True, False))
    assert scaled == pytest.approx(plain * embedding_scale.WIDTH**0.5)
    assert embedding_scale.size_ratio(False, 256) < plain  # the wider, the smaller


def test_without_warm_up_the_first_step_has_the_full_rate() -> None:
    for name, settings in warmup.VARIANTS.items():
        chosen = config(settings)
        optimizer = chosen.training.optimizer
        first = optimizer.rate_at(1, Plan.of(300).moment(1))
        assert (first > 0.9 * optimizer.rate) is name.endswith("none")
        assert f"{chosen.model.norm}-norm" in name  # type: ignore[union-attr]


def test_variants_of_regularisation_switch_each_on_and_off() -> None:
    found = {name: config(each).model for name, each in regularisation.VARIANTS.items()}
    chosen = {name: (each.dropout > 0, each.smoothing > 0) for name, each in found.items()}  # type: ignore[union-attr]
    assert chosen == {
        "neither": (False, False),
        "dropout": (True, False),
        "label smoothing": (False, True),
    }


@pytest.mark.parametrize(
    ("depths", "recipe"),
    [(recurrent_layers.DEPTHS, "lstm_attention"), (attention_layers.DEPTHS, "tiny")],
)
def test_each_layer_adds_as_many_weights(depths: Sequence[int], recipe: str) -> None:
    sizes = [parameters([f"model.layers={depth}"], recipe) for depth in depths]
    gains = np.diff(sizes) / np.diff(depths)
    assert gains.min() > 0
    assert gains.max() <= 1.5 * gains.min()


def test_the_gain_of_a_layer_is_what_it_takes_from_the_loss() -> None:
    found = Ablation("loss", "nats", {"2": [2.0, 3.0], "6": [1.0, 3.0]})
    assert attention_layers.gain(found, 2, 6) == [0.25, 0.0]
