"""Translating with the likely part of the vocabulary alone (Jean et al. 2015, arXiv 1412.2007)."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import torch
from torch import Tensor

from regard.data.batch import UNKNOWN, Batch, Padded
from regard.models.base import Decoder, Encoded, EncoderDecoder, Model
from regard.nn.output import Loss
from regard.nn.state import State
from regard.search.base import Hypothesis, Search


class Shortlisted(Model):
    """A model whose targets are made of what its batch's source tokens often become.

    likely (source ids, n): target ids for each source id, 0 where there are fewer. `always` are
    target ids that every batch may use.
    """

    def __init__(self, model: EncoderDecoder, likely: Tensor, always: Tensor) -> None:
        super().__init__()
        self.model = model
        self.length_limit = model.length_limit
        self.likely = likely
        self.always = torch.cat([torch.arange(UNKNOWN + 1), always])

    def forward(self, batch: Batch) -> Loss:
        return self.model(batch)

    def log_probabilities(self, batch: Batch) -> Tensor:
        return self.model.log_probabilities(batch)

    @torch.inference_mode()
    def generate(
        self, source: Padded, search: Search, prefix: Optional[Padded] = None
    ) -> list[list[Hypothesis]]:
        """Search in a vocabulary of the choices, numbered anew; the reserved ids keep theirs."""
        parts = [self.always, self.likely[source.values].flatten()]
        if prefix is not None:
            parts.append(prefix.values.flatten())
        choices = torch.cat(parts).unique()  # sorted
        if prefix is not None:
            prefix = Padded(torch.searchsorted(choices, prefix.values), prefix.lengths)
        model = EncoderDecoder(
            self.model.encoder,
            _Renumbered(self.model.decoder, choices),
            self.model.output.narrow(choices),
            self.length_limit,
        )
        ids = choices.tolist()
        return [
            [replace(each, tokens=tuple(ids[token] for token in each.tokens)) for each in best]
            for best in model.generate(source, search, prefix)
        ]


class _Renumbered(Decoder):
    """A decoder that is given places in a list of choices for tokens."""

    def __init__(self, decoder: Decoder, choices: Tensor) -> None:
        super().__init__()
        self.decoder = decoder
        self.choices = choices

    def start(self, encoded: Encoded) -> State:
        return self.decoder.start(encoded)

    def forward(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        read: tuple[Tensor, State] = self.decoder(self.choices[tokens], state)
        return read
