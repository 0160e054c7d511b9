"""Recipes of language models, which learn from a target alone."""

from __future__ import annotations

from regard.models.language import LanguageConfig
from regard.recipes.config import Config
from regard.recipes.translation import tiny
from regard.search.beam import Beam
from regard.training.optimizers import OptimizerSettings
from regard.training.settings import TrainingSettings


def _language(model: LanguageConfig, optimizer: OptimizerSettings) -> Config:
    return tiny().changed(
        model=model,
        training=TrainingSettings(optimizer=optimizer),
        search=Beam(max_length_ratio=1.0, max_length_extra=256),
    )


def language() -> Config:
    """A language model, trained on --target alone: a 6-layer causal Transformer."""
    return _language(
        LanguageConfig(layers=6, dropout=0.2), OptimizerSettings(rate=3e-3, warmup=500)
    )


def language_rnn() -> Config:
    """A language model, trained on --target alone: a 2-layer LSTM."""
    return _language(
        LanguageConfig(cell="lstm", layers=2, width=192, dropout=0.2),
        OptimizerSettings(rate=2e-3, warmup=300),
    )


RECIPES = (
    language,
    language_rnn,
)
