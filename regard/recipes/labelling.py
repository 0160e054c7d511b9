"""Recipes that give words tags, lines labels and questions answers."""

from __future__ import annotations

from regard.data.store import BatchSettings
from regard.data.tokenizer import TargetKind, TokenizerSettings
from regard.models import Architecture
from regard.models.entity import EntityConfig
from regard.models.hierarchical import HierarchicalConfig
from regard.models.labelling import ClassifierConfig, TaggerConfig
from regard.recipes.config import Config
from regard.training.optimizers import OptimizerSettings
from regard.training.settings import TrainingSettings


def _labelling(
    model: Architecture, rate: float, target: TargetKind, tokenizer: TokenizerSettings
) -> Config:
    return Config(
        tokenizer=tokenizer.changed(target=target, joint=False),
        batch=BatchSettings(tokens=2048),
        model=model,
        training=TrainingSettings(
            optimizer=OptimizerSettings(rate=rate, warmup=200), validation_lines=2000
        ),
    )


_SUBWORDS = TokenizerSettings(kind="unigram", vocabulary=6000, sampling=0.2)


def tagger() -> Config:
    """Tags each word: a 3-layer Transformer encoder."""
    model = TaggerConfig(layers=3, dropout=0.3, position="shaw", token_dropout=0.1)
    return _labelling(model, 3e-3, "word", _SUBWORDS)


def tagger_conv() -> Config:
    """`tagger` with convolutions of width 3 as its feed-forward networks."""
    config = tagger()
    return config.changed(model=config.model.changed(kernel=3))


def tagger_rnn() -> Config:
    """Tags each word, by its letters too: a 2-layer bidirectional LSTM."""
    words = TokenizerSettings(kind="word", vocabulary=10_000)  # EWT: of those that occur twice
    model = TaggerConfig(
        cell="lstm", layers=2, width=256, letters=128, dropout=0.4, token_dropout=0.1
    )
    return _labelling(model, 3e-3, "word", words)


def classifier() -> Config:
    """Gives each line a label: a 2-layer Transformer encoder, mean of all positions."""
    model = ClassifierConfig(dropout=0.3, token_dropout=0.2)
    return _labelling(model, 2e-3, "line", TokenizerSettings(vocabulary=8000))


def hierarchical() -> Config:
    """Gives a document of sentences a label: hierarchical attention (Yang et al. 2016)."""
    words = TokenizerSettings(kind="word", vocabulary=10_000)
    model = HierarchicalConfig(dropout=0.5, token_dropout=0.2)
    config = _labelling(model, 2e-3, "line", words)
    return config.changed(batch=BatchSettings(tokens=16_384, max_length=3000))


def entity() -> Config:
    """Answers a question about a story: a recurrent entity network (Henaff et al. 2017)."""
    words = TokenizerSettings(kind="word")
    config = _labelling(EntityConfig(), 5e-3, "line", words)
    optimizer = config.training.optimizer.changed(warmup=50, clip=40.0)
    return config.changed(
        batch=BatchSettings(tokens=1400, max_length=2000),
        training=config.training.changed(optimizer=optimizer),
    )


RECIPES = (
    tagger,
    tagger_conv,
    tagger_rnn,
    classifier,
    hierarchical,
    entity,
)
