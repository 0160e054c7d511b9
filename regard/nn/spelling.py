"""Words as what they are spelled like, which tells something of those never seen in training."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.data.annotations import LETTER_CODES, Letters
from regard.data.batch import Padded
from regard.nn.convolution import Convolution
from regard.nn.embedding import embed
from regard.nn.linear import linear

LETTER_WIDTH = 32
KERNEL = 3
_HIDDEN = -1e9


class Spelling(nn.Module):
    """W relu(max over i of convolution(letters)_i): `filters` of width 3 over the letters of a word
    and the maximum of each (dos Santos & Zadrozny 2014; Ma & Hovy 2016, arXiv 1603.01354)."""

    def __init__(self, filters: int, width: int) -> None:
        super().__init__()
        self.letters = embed(LETTER_CODES, LETTER_WIDTH)
        self.convolution = Convolution(LETTER_WIDTH, filters, KERNEL, gain=LETTER_WIDTH)
        self.widen = linear(filters, width)

    def forward(self, source: Padded) -> Tensor:
        """(B, S, D): the same vector for all pieces of a word."""
        letters = source.annotations[Letters.name].long()  # (B, S, L)
        words, found = letters.flatten(0, 1).unique(dim=0, return_inverse=True)  # (N, L)
        x = self.convolution.centred(self.letters(words))
        x = x.masked_fill((words == 0)[:, :, None], _HIDDEN).amax(dim=1)
        return self.widen(torch.relu(x))[found].view(*letters.shape[:2], -1)
