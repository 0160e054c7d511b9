"""Recipes that read pictures."""

from __future__ import annotations

from regard.data.store import BatchSettings
from regard.data.tokenizer import TokenizerSettings
from regard.models.spatial import SpatialConfig
from regard.recipes.config import Budget, Config
from regard.search.beam import Beam
from regard.training.average import AverageSettings
from regard.training.optimizers import OptimizerSettings
from regard.training.settings import TrainingSettings


def spatial() -> Config:
    """Attention over a picture, for `regard corpus drawn_words` or PNG files (Xu et al. 2015)."""
    return Config(
        tokenizer=TokenizerSettings(kind="number", target="character", joint=False),
        batch=BatchSettings(tokens=2048),
        model=SpatialConfig(),
        training=TrainingSettings(
            optimizer=OptimizerSettings(rate=2e-3, warmup=200, weight_decay=0),
            average=AverageSettings(kind="none"),
            metric="exact",
            validate_every=500,
            validation_lines=200,
        ),
        search=Beam(beam=1),
        budget=Budget(steps=4000),
    )


RECIPES = (spatial,)
