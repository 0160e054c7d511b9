"""Recipes: named functions, each returning a complete Config."""

from __future__ import annotations

from collections.abc import Callable
from typing import Optional, Union

from pydantic import Field, model_validator

from regard.config import Settings
from regard.data.annotations import Kinds, Numbers
from regard.data.corpus import Pairs
from regard.data.encoding import LENGTH_LIMIT
from regard.data.parallel import Parallel
from regard.data.store import BatchSettings
from regard.data.tokenizer import TargetKind, TokenizerSettings
from regard.errors import UsageError
from regard.messages import unknown
from regard.metrics.table import LOSS, ON_REQUEST, REPORTED, Writes
from regard.models import Architecture
from regard.models.convolutional import ByteNetConfig, ConvolutionalConfig
from regard.models.ensemble import EnsembleConfig
from regard.models.entity import EntityConfig
from regard.models.hierarchical import HierarchicalConfig
from regard.models.labelling import ClassifierConfig, TaggerConfig
from regard.models.language import LanguageConfig
from regard.models.nonautoregressive import NonAutoregressiveConfig
from regard.models.recurrent import RecurrentConfig
from regard.models.transformer import TransformerConfig
from regard.models.turing import TuringConfig
from regard.search.beam import Beam
from regard.training.average import AverageSettings
from regard.training.optimizers import OptimizerSettings
from regard.training.settings import TrainingSettings

TARGET_KINDS: dict[Writes, TargetKind] = {"tags": "word", "label": "line", "indices": "index"}
"""The tokenizer of targets that are not text."""


class Budget(Settings):
    """How long to train; exactly one of the three is given."""

    steps: Optional[int] = Field(
        default=None, ge=1, le=1_000_000_000, description="Updates (--steps)."
    )
    epochs: Optional[float] = Field(
        default=None, gt=0, le=1_000_000, description="Passes over the training data (--epochs)."
    )
    minutes: Optional[float] = Field(
        default=None, gt=0, le=10_000_000, description="Minutes of training (--minutes)."
    )

    @model_validator(mode="after")
    def _one(self) -> Budget:
        if sum(value is not None for value in (self.steps, self.epochs, self.minutes)) != 1:
            raise ValueError("give exactly one of steps, epochs and minutes")
        return self


class Config(Settings):
    """Everything that defines a run, apart from its data."""

    tokenizer: TokenizerSettings = Field(
        default=TokenizerSettings(), description="How text becomes pieces."
    )
    batch: BatchSettings = Field(
        default=BatchSettings(), description="How pairs are grouped into batches."
    )
    model: Architecture = Field(
        default=TransformerConfig(), description="The model; each kind has settings of its own."
    )
    training: TrainingSettings = Field(
        default=TrainingSettings(), description="How the model is trained."
    )
    search: Beam = Field(default=Beam(), description="How translations are searched for.")
    budget: Budget = Field(
        default=Budget(epochs=30), description="How long to train; exactly one of the three."
    )

    @model_validator(mode="after")
    def _fits(self) -> Config:
        if self.model.tying == "all" and not self.tokenizer.joint:
            raise ValueError(
                "tying all three embeddings needs one vocabulary for both sides: set "
                "tokenizer.joint=true or model.tying=target"
            )
        return self

    @model_validator(mode="after")
    def _fits_what_is_written(self) -> Config:
        needed = TARGET_KINDS.get(self.writes)
        if needed is not None and self.tokenizer.target != needed:
            raise ValueError(
                f"a model that writes {self.writes} needs tokenizer.target={needed} and "
                "tokenizer.joint=false"
            )
        reads_numbers = Numbers.name in [kind.name for kind in self.annotations]
        if reads_numbers != (self.tokenizer.kind == "number"):
            raise ValueError(
                "tokenizer.kind=number and models that read numbers go together: set both or none"
            )
        known = (*REPORTED[self.writes], *ON_REQUEST.get(self.writes, ()), LOSS)
        if self.metric not in known:
            raise ValueError(
                f"a model that writes {self.writes} is not validated by {self.metric}: set "
                f"training.metric to {' or '.join(known)}"
            )
        return self

    @model_validator(mode="after")
    def _fits_a_language_model(self) -> Config:
        if self.reads_source:
            return self
        if self.metric != LOSS:
            raise ValueError("a language model is validated by its loss: set training.metric=loss")
        if not self.tokenizer.joint:
            raise ValueError("a language model has one vocabulary: set tokenizer.joint=true")
        if self.search.max_length_ratio < 1:
            raise ValueError(
                "a language model continues its line: set search.max_length_ratio to 1 or more"
            )
        return self

    @property
    def reads_source(self) -> bool:
        """False for a language model, which learns from a target alone."""
        return self.model.reads_source

    @property
    def item(self) -> str:
        """What the model learns from, as a noun: a pair, or a line of a language model."""
        return "pair" if self.reads_source else "line"

    @property
    def writes(self) -> Writes:
        """What the model writes, which decides the metrics it is judged by."""
        return self.model.writes

    @property
    def metric(self) -> str:
        """What chooses the best checkpoint: by default the main metric of what is written."""
        return self.training.metric or (REPORTED[self.writes][0] if self.reads_source else LOSS)

    @property
    def max_pieces(self) -> int:
        """Pairs with more pieces than this on either side are skipped; EOS must fit too."""
        longest = self.model.length_limit
        most = self.batch.max_length
        return most if longest is None else min(most, longest - 1)

    @property
    def length_limit(self) -> int:
        """The most pieces of a line that are read when translating."""
        return max(LENGTH_LIMIT, self.batch.max_length)

    @property
    def annotations(self) -> Kinds:
        """What the model reads of the source besides the ids."""
        return tuple(kind.between(self.tokenizer.marker) for kind in self.model.annotations)

    def pairs_of(self, data: Parallel, part: str = "") -> Pairs:
        """The pairs that a run of this config reads; `part` is the prefix of their options."""
        return data.open_for(self.reads_source, self.annotations, self.writes, part)


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
    """Tags each word: a 2-layer bidirectional LSTM."""
    model = TaggerConfig(cell="lstm", layers=2, width=256, dropout=0.4)
    return _labelling(model, 3e-3, "word", _SUBWORDS)


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
    config = _labelling(EntityConfig(), 1e-2, "line", words)
    optimizer = config.training.optimizer.changed(warmup=50, clip=40.0)
    return config.changed(
        batch=BatchSettings(tokens=4096, max_length=2000),
        training=config.training.changed(optimizer=optimizer),
    )


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


RECIPES: dict[str, Callable[[], Config]] = {
    recipe.__name__: recipe
    for recipe in (
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
        language,
        language_rnn,
        tagger,
        tagger_conv,
        tagger_rnn,
        classifier,
        hierarchical,
        entity,
        ensemble,
        multi30k,
        nonautoregressive,
        turing,
    )
}


def find_recipe(name: Union[str, Config]) -> Config:
    """The config of a recipe; a complete config is its own."""
    if isinstance(name, Config):
        return name
    if name not in RECIPES:
        raise UsageError(unknown("recipe", name, RECIPES))
    return RECIPES[name]()
