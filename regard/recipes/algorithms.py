"""Recipes that learn an algorithm from examples of it."""

from __future__ import annotations

from regard.data.store import BatchSettings
from regard.data.tokenizer import TokenizerSettings
from regard.models.turing import TuringConfig
from regard.recipes.config import Budget, Config
from regard.search.beam import Beam
from regard.training.average import AverageSettings
from regard.training.optimizers import OptimizerSettings
from regard.training.settings import TrainingSettings


def turing() -> Config:
    """A Neural Turing Machine, for tasks such as `regard corpus copy` (Graves et al. 2014)."""
    return Config(
        tokenizer=TokenizerSettings(kind="word", vocabulary=1000),
        batch=BatchSettings(tokens=1024),
        model=TuringConfig(controller="feedforward", feed=False),
        training=TrainingSettings(
            optimizer=OptimizerSettings(rate=5e-3, warmup=100, weight_decay=0),
            average=AverageSettings(kind="none"),
            metric="symbol_error",
            validate_every=250,
            validation_lines=200,
        ),
        search=Beam(beam=1),
        budget=Budget(steps=1000),
    )


RECIPES = (turing,)
