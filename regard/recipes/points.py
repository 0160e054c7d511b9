"""Recipes that point at words of the source."""

from __future__ import annotations

from regard.data.store import BatchSettings
from regard.data.tokenizer import TokenizerSettings
from regard.models.pointer import PointerConfig
from regard.recipes.config import Budget, Config
from regard.search.beam import Beam
from regard.training.optimizers import OptimizerSettings
from regard.training.settings import TrainingSettings


def pointer() -> Config:
    """A pointer network, for tasks such as `regard corpus convex_hull` (Vinyals et al. 2015)."""
    return Config(
        tokenizer=TokenizerSettings(kind="number", target="index", joint=False),
        batch=BatchSettings(tokens=1536),
        model=PointerConfig(),
        training=TrainingSettings(
            optimizer=OptimizerSettings(rate=2e-3, warmup=200, weight_decay=0, clip=2.0),
            validation_lines=300,
        ),
        search=Beam(beam=1, length_penalty=0.0, visits="once"),
        budget=Budget(steps=3000),
    )


RECIPES = (pointer,)
