"""The settings of training; those of its parts are next to their code."""

from __future__ import annotations

from typing import Literal, Optional

from pydantic import Field, model_validator

from regard.config import MAX_COUNT, MAX_STEPS, Settings
from regard.metrics.table import LOSS, METRICS, MetricName
from regard.processes.devices import Precision
from regard.training.average import AverageSettings
from regard.training.optimizers import OptimizerSettings


class TrainingSettings(Settings):
    optimizer: OptimizerSettings = Field(
        default=OptimizerSettings(), description="The optimiser and its learning rate."
    )
    average: AverageSettings = Field(
        default=AverageSettings(), description="Averaging of the weights over steps."
    )
    accumulate: int = Field(default=1, ge=1, le=10_000, description="Batches per update.")
    dropout_start: float = Field(
        default=1.0, ge=0, le=1, description="Fraction of the dropout applied in the first epoch."
    )
    dropout_ramp_epochs: int = Field(
        default=60, le=MAX_COUNT, ge=1, description="Epochs until the full dropout is applied."
    )
    precision: Precision = Field(
        default="float32",
        description="Precision of large products; weights, losses and norms are always float32.",
    )
    processes: Optional[int] = Field(
        default=None,
        le=MAX_COUNT,
        ge=1,
        description="Processes that train together; null: one per core, or one for a large model.",
    )
    shard: bool = Field(
        default=False,
        description="Each process keeps a part of every weight and moment, for models that do not "
        "fit in one.",
    )
    seed: int = Field(
        default=1, ge=0, lt=2**32, description="Seed of weights, dropout and batch order."
    )
    save_every: int = Field(
        default=500, le=MAX_STEPS, ge=1, description="Steps between checkpoints."
    )
    validate_every: int = Field(
        default=500, le=MAX_STEPS, ge=1, description="Steps between validations."
    )
    log_every: int = Field(
        default=10, le=MAX_STEPS, ge=1, description="Steps between journal records."
    )
    patience: int = Field(
        default=0,
        le=MAX_STEPS,
        ge=0,
        description="Stop after this many validations without a better score; 0: never.",
    )
    metric: Optional[MetricName] = Field(
        default=None,
        description="The validation score that decides which checkpoint is best: "
        f"{', '.join(METRICS)} or {LOSS}; null: the main metric of what the model writes.",
    )
    validation_lines: int = Field(
        default=500, le=MAX_STEPS, ge=1, description="Lines decoded per validation."
    )
    not_finite: Literal["skip", "stop"] = Field(
        default="skip", description="What to do with a step whose loss or gradient is not finite."
    )
    keep: int = Field(
        default=2, le=1_000, ge=2, description="Recent checkpoints kept besides the best one."
    )

    @model_validator(mode="after")
    def _fits_shards(self) -> TrainingSettings:
        if self.shard and self.optimizer.kind == "muon":
            raise ValueError(
                "muon needs whole matrices, which no process has with shard=true: set "
                "optimizer.kind=adamw"
            )
        return self

    def dropout_at(self, epoch: int) -> float:
        """The fraction of the dropout applied in an epoch, counted from 0.

        With little dropout a small model learns fast; the more often it has read the same pairs,
        the more dropout it needs not to memorise them.
        """
        done = min(1.0, epoch / self.dropout_ramp_epochs)
        return self.dropout_start + (1 - self.dropout_start) * done
