"""Small models of every family with their first weights, to look into."""

from __future__ import annotations

from typing import Any

import torch
from toy import WORDS

from regard.data.tokenizer import Indices, NumberWords, Tokenizer, Words
from regard.data.tokenizers import Tokenizers
from regard.predict import Predictor
from regard.search.beam import Beam

LETTERS = Words([*WORDS, *(word.upper() for word in WORDS)])


def untrained(config: Any, search: Beam | None = None, tokenizer: Tokenizer = LETTERS) -> Predictor:
    """A predictor of a small model with its first weights, over the toy's words."""
    torch.manual_seed(3)
    sides = Tokenizers.one(tokenizer)
    if any(kind.replaces_ids for kind in config.annotations):  # points or pictures
        target = Indices() if config.writes == "indices" else tokenizer
        sides = Tokenizers(NumberWords(), target)
    model = config.build(sides.source.size, sides.target.size)
    return Predictor(
        model,
        sides,
        search or Beam(beam=3),
        annotations=config.annotations,
    )
