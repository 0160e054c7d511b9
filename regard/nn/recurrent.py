"""Recurrent parts: reading a sequence both ways, and attention that scores by a small network."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.nn.probe import Watched


class BothWays(nn.Module):
    """An LSTM from left to right and one from right to left, their outputs side by side
    (Hochreiter & Schmidhuber 1997; Schuster & Paliwal 1997)."""

    def __init__(self, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(
            width, width // 2, layers, batch_first=True, dropout=between, bidirectional=True
        )

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """x (B, S, D) to (B, S, D); padding is not read in either direction."""
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        output, _ = self.lstm(packed)
        padded, _ = pad_packed_sequence(output, batch_first=True, total_length=x.shape[1])
        return padded


class AdditiveAttention(Watched):
    """e_j = v^T tanh(W1 h_j + W2 s); a = softmax(e); c = sum_j a_j h_j
    (Bahdanau et al. 2014, arXiv 1409.0473)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_source = nn.Linear(width, width, bias=False)
        self.of_state = nn.Linear(width, width)
        self.score = nn.Linear(width, 1, bias=False)

    def prepare(self, source: Tensor) -> Tensor:
        """W1 h_j for all places at once, (B, S, D)."""
        return self.of_source(source)

    def forward(self, query: Tensor, prepared: Tensor, source: Tensor, mask: Tensor) -> Tensor:
        """query (B x copies, D), prepared and source (B, S, D), mask (B, S): c (B x copies, D)."""
        asked = self.of_state(query).unflatten(0, (len(source), -1))  # (B, copies, D)
        energy = torch.tanh(prepared[:, None] + asked[:, :, None])  # (B, copies, S, D)
        scores = self.score(energy)[..., 0].masked_fill(~mask[:, None], -math.inf)
        weights = scores.softmax(dim=-1)  # (B, copies, S)
        if self.probe is not None:
            self.probe.append(weights.detach().flatten(0, 1)[:, None, None])
        return (weights @ source).flatten(0, 1)
