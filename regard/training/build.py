"""Builds what the settings ask for to compute gradients."""

from __future__ import annotations

from collections.abc import Callable

from regard.models.base import Model
from regard.processes.ranks import Ranks
from regard.training.gradients import Gradients, SummedGradients
from regard.training.settings import TrainingSettings


def build_gradients(
    model: Model, settings: TrainingSettings, ranks: Ranks, note: Callable[[str], None]
) -> Gradients:
    """For a model that each process has as a whole, or in part."""
    if not settings.shard:
        return SummedGradients(model, settings, ranks, note)
    from regard.training.sharding import ShardedGradients  # torch's part of it is slow to import

    return ShardedGradients(model, settings, ranks)
