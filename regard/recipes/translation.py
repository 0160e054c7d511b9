"""Recipes that translate, or map text to text in any other way."""

from __future__ import annotations

from regard.data.store import BatchSettings
from regard.data.tokenizer import TokenizerSettings
from regard.models.convolutional import ByteNetConfig, ConvolutionalConfig
from regard.models.ensemble import EnsembleConfig
from regard.models.nonautoregressive import NonAutoregressiveConfig
from regard.models.recurrent import RecurrentConfig
from regard.models.transformer import TransformerConfig
from regard.recipes.config import Config
from regard.search.beam import Beam
from regard.training.average import AverageSettings
from regard.training.optimizers import OptimizerSettings
from regard.training.settings import TrainingSettings


def tiny() -> Config:
    """A Transformer of 4+4 layers, width 128, for tens of thousands of pairs."""
    return Config(
        tokenizer=TokenizerSettings(vocabulary=10_000),
        batch=BatchSettings(tokens=2048),
        model=TransformerConfig(norm="pre", dropout=0.3),
        training=TrainingSettings(
            optimizer=OptimizerSettings(rate=4e-3, warmup=500), dropout_start=1 / 3
        ),
    )


def small() -> Config:
    """A Transformer of 6+6 layers, width 256, for hundreds of thousands of pairs."""
    return Config(
        model=TransformerConfig(layers=6, width=256, inner=1024, heads=4, norm="pre"),
        training=TrainingSettings(optimizer=OptimizerSettings(rate=1e-3, warmup=1000)),
    )


def base() -> Config:
    """The base model and schedule of the Transformer paper: 6+6 layers, width 512."""
    return Config(
        tokenizer=TokenizerSettings(vocabulary=32000),
        model=TransformerConfig(layers=6, width=512, inner=2048, heads=8),
        training=TrainingSettings(
            optimizer=OptimizerSettings(
                kind="adam", rate=7e-4, warmup=4000, schedule="inverse_sqrt", weight_decay=0
            ),
            average=AverageSettings(kind="last", count=5),
        ),
    )


def big() -> Config:
    """The big model of the Transformer paper: 6+6 layers, width 1024."""
    config = base()
    model = TransformerConfig(layers=6, width=1024, inner=4096, heads=16, dropout=0.3)
    optimizer = config.training.optimizer.changed(rate=5e-4)
    training = config.training.changed(optimizer=optimizer)
    return config.changed(model=model, training=training)


def _recurrent(model: RecurrentConfig) -> Config:
    return tiny().changed(
        model=model, training=TrainingSettings(optimizer=OptimizerSettings(rate=5e-3, warmup=300))
    )


def rnn_plain() -> Config:
    """Two LSTMs joined by one fixed vector, source reversed (Sutskever et al. 2014)."""
    return _recurrent(RecurrentConfig(width=160, layers=2, attention="none", direction="backward"))


def rnn_attention() -> Config:
    """A plain tanh RNN with additive attention (Bahdanau et al. 2014)."""
    return _recurrent(RecurrentConfig(width=216, cell="rnn"))


def rnn_luong() -> Config:
    """LSTMs with multiplicative attention and input feeding (Luong et al. 2015)."""
    return _recurrent(
        RecurrentConfig(width=192, attention="after", score="multiplicative", input_feeding=True)
    )


def gru_attention() -> Config:
    """A bidirectional GRU encoder and a GRU decoder with additive attention."""
    return _recurrent(RecurrentConfig(width=192, cell="gru"))


def lstm_attention() -> Config:
    """A bidirectional LSTM encoder and an LSTM decoder with additive attention."""
    return _recurrent(RecurrentConfig(width=184))


def conv() -> Config:
    """Gated convolutions with attention in every decoder layer (Gehring et al. 2017)."""
    return tiny().changed(
        model=ConvolutionalConfig(layers=5, width=128),
        training=TrainingSettings(optimizer=OptimizerSettings(rate=8e-3, warmup=300)),
    )


def bytenet() -> Config:
    """Dilated convolutions over characters, without attention (Kalchbrenner et al. 2016)."""
    return Config(
        tokenizer=TokenizerSettings(kind="character", vocabulary=300),
        batch=BatchSettings(tokens=2048, max_length=512),
        model=ByteNetConfig(layers=10, width=264),
        training=TrainingSettings(optimizer=OptimizerSettings(rate=4e-3, warmup=300)),
    )


def ensemble() -> Config:
    """Two `tiny` models trained side by side that average their predictions; twice the cost."""
    config = tiny()
    assert isinstance(config.model, TransformerConfig)
    return config.changed(model=EnsembleConfig(member=config.model))


def multi30k() -> Config:
    """`tiny` tuned for 30,000 pairs and an hour: Muon, relative positions, token dropout."""
    config = tiny()
    model = config.model.changed(position="shaw", token_dropout=0.1)
    training = TrainingSettings(
        optimizer=OptimizerSettings(kind="muon", rate=16e-3, warmup=500, weight_decay=0.1),
        dropout_start=0.5,
        dropout_ramp_epochs=25,
        validation_lines=2000,
    )
    return config.changed(model=model, training=training)


def nonautoregressive() -> Config:
    """Writes all words at once, from fertilities; for distilled targets and --alignments."""
    config = multi30k()
    shared = NonAutoregressiveConfig.model_fields.keys() - {"kind"}
    values = {name: value for name, value in dict(config.model).items() if name in shared}
    model = NonAutoregressiveConfig(**values, remove_repeats=True)
    return config.changed(model=model, search=Beam(beam=1))


RECIPES = (
    tiny,
    small,
    base,
    big,
    rnn_plain,
    rnn_attention,
    rnn_luong,
    gru_attention,
    lstm_attention,
    conv,
    bytenet,
    ensemble,
    multi30k,
    nonautoregressive,
)
