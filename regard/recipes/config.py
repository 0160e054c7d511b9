"""The complete settings of a run, and how they must fit each other."""

from __future__ import annotations

from typing import Optional

from pydantic import Field, model_validator

from regard.config import Settings
from regard.data.annotations import Kinds, Numbers, SentenceIndex
from regard.data.corpus import Pairs
from regard.data.encoding import LENGTH_LIMIT
from regard.data.parallel import Parallel
from regard.data.store import BatchSettings
from regard.data.tokenizer import TargetKind, TokenizerSettings
from regard.metrics.points import CoveredArea
from regard.metrics.table import LOSS, ON_REQUEST, REPORTED, WRITTEN, Writes
from regard.models import Architecture
from regard.models.transformer import TransformerConfig
from regard.search.beam import Beam
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
        if self.model.copies and not self.tokenizer.joint:
            raise ValueError(
                "copying needs one vocabulary for both sides: set tokenizer.joint=true or "
                "model.copying=false"
            )
        return self

    @model_validator(mode="after")
    def _fits_what_is_written(self) -> Config:
        needed = TARGET_KINDS.get(self.writes)
        if needed is not None and self.tokenizer.target != needed:
            raise ValueError(
                f"a model that writes {WRITTEN[self.writes]} needs tokenizer.target={needed} and "
                "tokenizer.joint=false"
            )
        if self.reads_text == (self.tokenizer.kind == "number"):
            raise ValueError(
                "tokenizer.kind=number and models that read numbers or pictures go together: set "
                "both or none"
            )
        known = (*REPORTED[self.writes], *ON_REQUEST.get(self.writes, ()), LOSS)
        if self.metric not in known:
            raise ValueError(
                f"a model that writes {WRITTEN[self.writes]} is not validated by {self.metric}: "
                f"set training.metric to {' or '.join(known)}"
            )
        return self

    @model_validator(mode="after")
    def _fits_precision(self) -> Config:
        if self.training.precision != "float32" and not self.model.mixed_precision:
            raise ValueError(
                f"a model of kind {self.model.kind} needs more precision than "
                f"{self.training.precision} to address its memory: set training.precision=float32"
            )
        return self

    @model_validator(mode="after")
    def _fits_tags(self) -> Config:
        if self.tokenizer.tags is None:
            return self
        if self.writes != "text" or not self.reads_source or self.annotations:
            raise ValueError(
                "sources are tagged with languages for models that translate text and read no "
                "annotations: set tokenizer.tags=null"
            )
        return self

    @model_validator(mode="after")
    def _fits_points(self) -> Config:
        if self.search.visits != "any" and self.writes != "indices":
            raise ValueError(
                f"a model that writes {WRITTEN[self.writes]} has no indices to visit: set "
                "search.visits=any"
            )
        widths = [kind.width for kind in self.annotations if isinstance(kind, Numbers)]
        if self.metric == CoveredArea.name and widths != [2]:
            raise ValueError("only points in the plane cover an area: set model.numbers=2")
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
        """What the model writes, which determines its metrics."""
        return self.model.writes

    @property
    def metric(self) -> str:
        """The metric that chooses the best checkpoint: by default the main one of what the model
        writes."""
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
        """What the model reads besides the ids of the source."""
        return tuple(kind.between(self.tokenizer.marker) for kind in self.model.annotations)

    @property
    def reads_text(self) -> bool:
        """False for a model that reads numbers or a picture."""
        return not any(kind.replaces_ids for kind in self.annotations)

    @property
    def reads_sentences(self) -> bool:
        """Whether a line is divided into sentences, by `tokenizer.marker`."""
        return any(isinstance(kind, SentenceIndex) for kind in self.annotations)

    def pairs_of(self, data: Parallel, part: str = "") -> Pairs:
        """The pairs that a run of this config reads; `part` is the prefix of their options."""
        tags = self.tokenizer.tags
        return data.open_for(self.reads_source, self.annotations, self.writes, part, tags)
