"""Questions about a story, answered from a memory that follows its entities."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.config import MAX_COUNT, MAX_WIDTH
from regard.data.annotations import Kinds, SentenceIndex
from regard.data.batch import Padded
from regard.metrics.table import Writes
from regard.models.base import KIND, NO_TYING, Encoder, Family
from regard.models.hierarchical import SentenceLayout
from regard.models.labeller import Labeller
from regard.nn.dropout import Dropout
from regard.nn.fast.slots import SlotWeights, read
from regard.nn.output import Projection
from regard.nn.probe import Watched
from regard.nn.state import Encoded

INITIAL = 0.1
"""Standard deviation of the initial weights."""


class EntityConfig(Family):
    """Recurrent entity network (Henaff et al. 2017, arXiv 1612.03969).

    A line is the sentences of a story and, last, a question about it; the label is the answer.
    """

    kind: Literal["entity"] = Field(default="entity", description=KIND)
    width: int = Field(
        default=100, ge=2, le=MAX_WIDTH, description="Size of the embeddings and of each slot."
    )
    slots: int = Field(
        default=20, ge=1, le=MAX_COUNT, description="Slots of the memory, one per entity."
    )
    max_position: int = Field(
        default=32,
        ge=1,
        le=MAX_COUNT,
        description="Positions in a sentence that are told apart; later ones count as the last.",
    )
    tying: Literal["none"] = Field(default="none", description=NO_TYING)
    dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Dropout probability of the words and the answer."
    )
    smoothing: float = Field(default=0.0, ge=0, lt=1, description="Label smoothing.")

    @property
    def annotations(self) -> Kinds:
        return (SentenceIndex(),)

    @property
    def writes(self) -> Writes:
        return "label"

    def build(self, source_size: int, target_size: int) -> Labeller:
        weight = nn.Parameter(torch.randn(target_size, self.width) * INITIAL)
        output = Projection(weight, self.smoothing, target_size)
        return Labeller(EntityEncoder(self, source_size), output, "label")

    @classmethod
    def miniatures(cls) -> list[EntityConfig]:
        """Small members which together use every option; the contract tests run each."""
        return [cls(width=24, slots=4, max_position=2)]


class Gates(Watched):
    """How far each slot was opened by each sentence; a row does not sum to 1."""

    normalised = False


class ContentWeight(nn.Module):
    """U (D, D), which the update of the memory multiplies with by itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, width))


class EntityEncoder(Encoder):
    """A sentence is s = sum over i of f_i * e_i, with a learned vector f_i for each position i.
    Each slot j has a key w_j and a content h_j, which begins as w_j. A sentence changes it by

        g_j = sigmoid(s (h_j + w_j));  h_j <- norm(h_j + g_j phi(U h_j + V w_j + W s))

    and the question q is answered by p_j = softmax(q h_j), u = sum over j of p_j h_j and
    y = phi(q + H u), from which the output chooses.

    Two initial values differ from the authors', which are all 1. With equal f_i a sentence starts
    as a bag of words, and with the identity as phi the answer cannot tell whether question and
    memory agree: both are plateaus that take long to leave.
    """

    def __init__(self, config: EntityConfig, source_size: int) -> None:
        super().__init__()
        width = config.width
        self.tokens = nn.Embedding(source_size, width)
        self.position = nn.Parameter(1 + torch.randn(config.max_position, width))
        self.keys = nn.Parameter(torch.empty(config.slots, width))
        self.of_content = ContentWeight(width)
        self.of_key, self.of_sentence, self.of_answer = (
            nn.Linear(width, width, bias=False) for _ in range(3)
        )
        self.memory_slope = nn.Parameter(torch.ones(width))  # of PReLU: at first the identity
        self.answer_slope = nn.Parameter(torch.zeros(width))  # at first ReLU
        self.dropout = Dropout(config.dropout)
        self.gates = Gates(("sentences", "memory"))
        self.over_slots = Watched(("target", "memory"))
        for weights in (self.tokens, self.of_content, self.of_key, self.of_sentence):
            nn.init.normal_(weights.weight, std=INITIAL)
        for weight in (self.of_answer.weight, self.keys):
            nn.init.normal_(weight, std=INITIAL)

    def forward(self, source: Padded) -> Encoded:
        sentences, mask = self._sentences(source)  # (B, M, D), (B, M)
        last = mask.sum(dim=1) - 1
        question = sentences[torch.arange(len(last), device=last.device), last]
        story = mask & (torch.arange(mask.shape[1], device=mask.device) < last[:, None])
        memory = self._read(sentences, story)  # (B, slots, D)
        weights = (memory @ question[:, :, None])[:, :, 0].softmax(dim=-1)  # (B, slots)
        self.over_slots.record_weights(weights[:, None, None].expand(-1, -1, 2, -1))
        found = (weights[:, None] @ memory)[:, 0]
        answer = _prelu(question + self.of_answer(found), self.answer_slope)
        return Encoded(self.dropout(answer)[:, None], source.mask[:, :1])

    def _sentences(self, source: Padded) -> tuple[Tensor, Tensor]:
        layout = SentenceLayout.of(source)
        ids = layout.split(source.values)  # (N, P)
        positions = torch.arange(ids.shape[1], device=ids.device).clamp(max=len(self.position) - 1)
        words = self.dropout(self.tokens(ids)) * layout.real[:, :, None]
        return layout.join((words * self.position[positions]).sum(dim=1))

    def _read(self, sentences: Tensor, story: Tensor) -> Tensor:
        """The memory (B, slots, D) after the sentences (B, M, D) of the story (B, M)."""
        of_key, of_content = self.of_key(self.keys), self.of_content.weight
        weights = SlotWeights(self.keys, of_key, of_content, self.memory_slope)
        memory, gates = read(sentences, self.of_sentence(sentences), story.sum(dim=1), weights)
        self.gates.record_weights(gates[:, None])
        return memory


def _prelu(x: Tensor, slope: Tensor) -> Tensor:
    return torch.where(x > 0, x, slope * x)
