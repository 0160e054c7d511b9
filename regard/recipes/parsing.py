"""Recipes that write a formal language: logical forms, queries, programs."""

from __future__ import annotations

from regard.data.store import BatchSettings
from regard.data.tokenizer import TokenizerSettings
from regard.models.recurrent import RecurrentConfig
from regard.recipes.config import Budget, Config
from regard.search.beam import Beam
from regard.training.optimizers import OptimizerSettings
from regard.training.settings import TrainingSettings


def parsing() -> Config:
    """Questions to logical forms, from a few thousand pairs or less: an LSTM with attention."""
    return Config(
        tokenizer=TokenizerSettings(vocabulary=1000),
        batch=BatchSettings(tokens=1024),
        model=RecurrentConfig(width=256, dropout=0.5),
        training=TrainingSettings(
            optimizer=OptimizerSettings(rate=2e-3, warmup=200), metric="exact"
        ),
        search=Beam(max_length_extra=100),
        budget=Budget(steps=1200),
    )


RECIPES = (parsing,)
