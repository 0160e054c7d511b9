"""Documents by sentences: words make up sentences, sentences make up the document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from regard.config import MAX_WIDTH
from regard.data.annotations import Kinds, SentenceIndex
from regard.data.batch import Padded
from regard.metrics.table import Writes
from regard.models.base import KIND, NO_TYING, Encoder, Family
from regard.models.labeller import Labeller
from regard.nn.blocks import Embedding
from regard.nn.dropout import Dropout
from regard.nn.embedding import embed
from regard.nn.output import Projection
from regard.nn.pooling import EvenMean, LearnedMean
from regard.nn.position import Position
from regard.nn.probe import Watched
from regard.nn.recurrent import CellKind, RecurrentLayer, reversed_positions
from regard.nn.state import Encoded


class HierarchicalConfig(Family):
    """Hierarchical attention (Yang et al. 2016): a bidirectional network reads the words of each
    sentence and attention weighs them; another reads the sentences and attention weighs these.

    With pooling=mean all weights are equal, which is the control for what attention adds.
    """

    kind: Literal["hierarchical"] = Field(default="hierarchical", description=KIND)
    cell: CellKind = Field(default="gru", description="Recurrent cell.")
    width: int = Field(
        default=100, ge=2, le=MAX_WIDTH, description="Size of the hidden vectors: even."
    )
    pooling: Literal["attention", "mean"] = Field(
        default="attention",
        description="How words become a sentence, and sentences a document: weighted by attention "
        "or equally.",
    )
    tying: Literal["none"] = Field(default="none", description=NO_TYING)
    dropout: float = Field(default=0.3, ge=0, lt=1, description="Dropout probability.")
    token_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Probability of dropping a whole input token."
    )
    smoothing: float = Field(default=0.0, ge=0, lt=1, description="Label smoothing.")

    @model_validator(mode="after")
    def _fits(self) -> HierarchicalConfig:
        if self.width % 2:
            raise ValueError("a bidirectional encoder needs an even width")
        return self

    @property
    def annotations(self) -> Kinds:
        return (SentenceIndex(),)

    @property
    def writes(self) -> Writes:
        return "label"

    def build(self, source_size: int, target_size: int) -> Labeller:
        output = Projection(embed(target_size, self.width).weight, self.smoothing, target_size)
        return Labeller(HierarchicalEncoder(self, embed(source_size, self.width)), output, "label")

    @classmethod
    def miniatures(cls) -> list[HierarchicalConfig]:
        """Small members which together use every option; the contract tests run each."""
        small = cls(width=16, dropout=0.0)
        return [small, small.changed(pooling="mean", cell="lstm")]


class HierarchicalEncoder(Encoder):
    """To one vector for the document, (B, 1, D)."""

    def __init__(self, config: HierarchicalConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        c = config
        self.words = Embedding(tokens, Position(), c.dropout, c.token_dropout)
        self.word_reader = RecurrentLayer(c.cell, c.width, c.width // 2)
        self.sentence_reader = RecurrentLayer(c.cell, c.width, c.width // 2)
        learned = c.pooling == "attention"
        self.word_mean = LearnedMean(c.width) if learned else EvenMean()
        self.sentence_mean = LearnedMean(c.width) if learned else EvenMean()
        self.over_words = Watched(("sentences", "source"))
        self.over_sentences = Watched(("target", "sentences"))
        self.dropout = Dropout(c.dropout)

    def forward(self, source: Padded) -> Encoded:
        layout = SentenceLayout.of(source)
        sentences, weights = self._read(layout, source.values)  # (N, D), (N, P)
        if self.over_words.probe is not None:
            self.over_words.record_weights(layout.spread(weights)[:, None])
        x, mask = layout.join(sentences)  # (B, M, D)
        x = self.dropout(self.sentence_reader(x, reversed_positions(mask)))
        document, weights = self.sentence_mean(x, mask)  # (B, D), (B, M)
        self.over_sentences.record_weights(weights[:, None, None].expand(-1, -1, 2, -1))
        return Encoded(document[:, None], source.mask[:, :1])

    def _read(self, layout: SentenceLayout, values: Tensor) -> tuple[Tensor, Tensor]:
        """Each sentence as a vector, (N, D), and the weights of its words (N, P)."""
        ids = layout.split(values)  # (N, P)
        means, weights = [], []
        groups = layout.groups()
        for rows, length in groups:
            real = layout.real[rows, :length]
            read = self.word_reader(self.words(ids[rows, :length]), reversed_positions(real))
            mean, found = self.word_mean(self.dropout(read), real)
            means.append(mean)
            weights.append(functional.pad(found, (0, ids.shape[1] - length)))
        back = torch.cat([rows for rows, _ in groups]).argsort()
        return torch.cat(means)[back], torch.cat(weights)[back]


@dataclass(frozen=True)
class SentenceLayout:
    """Where the sentences of a batch are: its N sentences side by side hold less padding than
    documents of equally many sentences would."""

    sentence: Tensor  # (B, S): in its document, -1 for EOS and padding
    number: Tensor  # (K,): of the sentence among all N, for each real piece
    position: Tensor  # (K,): in its sentence, for each real piece
    counts: Tensor  # (B,): sentences of each document
    real: Tensor  # (N, P): false at padding

    @staticmethod
    def of(source: Padded) -> SentenceLayout:
        sentence = source.annotations[SentenceIndex.name]
        counts = sentence.amax(dim=1) + 1
        first = counts.cumsum(dim=0) - counts  # the number of each document's first sentence
        here = sentence >= 0
        number = (sentence + first[:, None])[here]
        lengths = torch.bincount(number, minlength=int(counts.sum()))
        starts = lengths.cumsum(dim=0) - lengths
        position = torch.arange(len(number), device=number.device) - starts[number]
        longest = int(lengths.max()) if len(lengths) else 1  # a reader needs a column
        real = torch.arange(longest, device=number.device) < lengths[:, None]
        return SentenceLayout(sentence, number, position, counts, real)

    def groups(self) -> list[tuple[Tensor, int]]:
        """The sentences in groups of similar length: the rows of each, and its longest. In most
        documents a few sentences are several times as long as the others."""
        lengths = self.real.sum(dim=1)
        rows, found = lengths.argsort(descending=True), []
        while len(rows):
            longest = int(lengths[rows[0]])
            count = int((2 * lengths[rows] >= longest).sum())
            found.append((rows[:count], longest))
            rows = rows[count:]
        return found or [(rows, 1)]

    def split(self, ids: Tensor) -> Tensor:
        """ids (B, S) to (N, P), PAD at padding."""
        found = ids.new_zeros(self.real.shape)
        found[self.number, self.position] = ids[self.sentence >= 0]
        return found

    def join(self, sentences: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors of sentences (N, D) to (B, M, D), and which of them are real (B, M)."""
        most = max(1, int(self.counts.max()))
        mask = torch.arange(most, device=self.counts.device) < self.counts[:, None]
        found = sentences.new_zeros(*mask.shape, sentences.shape[-1])
        return found.masked_scatter(mask[:, :, None], sentences), mask

    def spread(self, weights: Tensor) -> Tensor:
        """Weights within sentences (N, P) to weights of each sentence over the whole line,
        (B, M, S)."""
        flat = weights.new_zeros(self.sentence.shape)
        flat[self.sentence >= 0] = weights[self.number, self.position]
        every = torch.arange(max(1, int(self.counts.max())), device=weights.device)
        return flat[:, None] * (self.sentence[:, None] == every[:, None])
