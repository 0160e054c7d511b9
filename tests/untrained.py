"""Small models of every family with their first weights, to look into."""

from __future__ import annotations

from typing import Any

import torch
from toy import WORDS

from regard.data.tokenizer import Tokenizer, Words
from regard.data.tokenizers import Tokenizers
from regard.predict import Predictor
from regard.search.beam import Beam

LETTERS = Words([*WORDS, *(word.upper() for word in WORDS)])


def untrained(config: Any, search: Beam | None = None, tokenizer: Tokenizer = LETTERS) -> Predictor:
    """A predictor of a small model with its first weights, over the toy's words."""
    torch.manual_seed(3)
    model = config.build(tokenizer.size, tokenizer.size)
    return Predictor(
        model,
        Tokenizers.one(tokenizer),
        search or Beam(beam=3),
        annotations=config.annotations,
    )
