"""Recipes for tasks that are text to text and not translation."""

from __future__ import annotations

from regard.data.store import BatchSettings
from regard.data.tokenizer import TokenizerSettings
from regard.models.transformer import TransformerConfig
from regard.nn.mixers import MixerSizes
from regard.recipes.config import Budget, Config
from regard.recipes.translation import tiny
from regard.search.beam import Beam
from regard.training.optimizers import OptimizerSettings
from regard.training.settings import TrainingSettings


def phonemes() -> Config:
    """Spelling to phonemes: a Transformer of 4+4 layers from characters to words."""
    return Config(
        tokenizer=TokenizerSettings(kind="character", target="word", vocabulary=1000, joint=False),
        batch=BatchSettings(tokens=4096),
        model=TransformerConfig(
            norm="pre", dropout=0.1, position="shaw", max_distance=8, tying="target"
        ),
        training=TrainingSettings(
            optimizer=OptimizerSettings(kind="muon", rate=16e-3, warmup=200, weight_decay=0.1),
            metric="token_error",
            validation_lines=1000,
        ),
        budget=Budget(epochs=15),
    )


def scan() -> Config:
    """Commands to actions (SCAN): a Transformer of 3+3 layers over words, greedy."""
    config = tiny()
    return config.changed(
        tokenizer=TokenizerSettings(kind="word", vocabulary=100),
        batch=BatchSettings(tokens=4096),
        model=config.model.changed(layers=3, dropout=0.1, smoothing=0.0),
        training=TrainingSettings(
            optimizer=OptimizerSettings(rate=2e-3, warmup=500), metric="exact"
        ),
        search=Beam(beam=1, max_length_extra=64),  # 9 words may be 48 actions
    )


def summaries() -> Config:
    """Summaries of long documents: reads by windows, at a cost linear in the length, and copies."""
    return Config(
        tokenizer=TokenizerSettings(kind="word", vocabulary=10_000),
        batch=BatchSettings(tokens=2048, max_length=1500),
        model=TransformerConfig(
            layers=1,
            width=128,
            inner=128,
            norm="pre",
            position="shaw",
            dropout=0.0,
            smoothing=0.0,
            copying=True,
            mixers=("window",),
            mixing=MixerSizes(neighbourhood=8),
        ),
        training=TrainingSettings(
            optimizer=OptimizerSettings(kind="muon", rate=6e-3, warmup=30),
            metric="exact",
            validate_every=250,
            validation_lines=100,
        ),
        search=Beam(beam=1),
    )


RECIPES = (phonemes, scan, summaries)
