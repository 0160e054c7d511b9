"""Searching only the likely part of the vocabulary (Jean et al. 2015, arXiv 1412.2007)."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import torch
from torch import Tensor

from regard.data.batch import UNKNOWN, Batch, Padded
from regard.errors import UsageError
from regard.models.base import Model
from regard.nn.output import Loss
from regard.search.base import Hypothesis, Search


class Shortlisted(Model):
    """A model that writes only likely translations of its batch's source tokens.

    likely (source ids, n): target ids for each source id, 0 where there are fewer. `always` are
    target ids that every batch may use.
    """

    def __init__(self, model: Model, likely: Tensor, always: Tensor) -> None:
        super().__init__()
        if not model.reads_source:
            raise UsageError("This model cannot use a shortlist; remove --shortlist.")
        self.model = model
        self.length_limit = model.length_limit
        reserved = torch.arange(UNKNOWN + 1, device=always.device)
        self.register_buffer("likely", likely, persistent=False)
        self.register_buffer("always", torch.cat([reserved, always]), persistent=False)
        self.likely: Tensor
        self.always: Tensor

    def forward(self, batch: Batch) -> Loss:
        return self.model(batch)

    def log_probabilities(self, batch: Batch) -> Tensor:
        return self.model.log_probabilities(batch)

    def choices(self, batch: Batch) -> Optional[Tensor]:
        return self.model.choices(batch)

    @torch.inference_mode()
    def generate(
        self,
        source: Padded,
        search: Search,
        prefix: Optional[Padded] = None,
        limits: Optional[Tensor] = None,
    ) -> list[list[Hypothesis]]:
        """Search a vocabulary of the choices, renumbered; the reserved ids stay the same."""
        parts = [self.always, self.likely[source.values].flatten()]
        if prefix is not None:
            parts.append(prefix.values.flatten())
        choices = torch.cat(parts).unique()  # sorted
        if prefix is not None:
            prefix = Padded(torch.searchsorted(choices, prefix.values), prefix.lengths)
        ids = choices.tolist()
        return [
            [replace(each, tokens=tuple(ids[token] for token in each.tokens)) for each in best]
            for best in self.model.narrowed(choices).generate(source, search, prefix, limits)
        ]
