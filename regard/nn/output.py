"""From hidden vectors to choices: scores for search, the loss for training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Optional, TypeVar

from torch import Tensor, nn

from regard.data.batch import Padded
from regard.errors import UsageError
from regard.nn.fast.int8 import Int8Linear
from regard.nn.fast.loss import chunked_loss
from regard.nn.fast.products import pack, times
from regard.nn.state import Encoded, Nested, State

Self = TypeVar("Self", bound="Projection")


@dataclass(frozen=True)
class Loss:
    """Of the target tokens of a batch, as a sum; the trainer divides by the tokens of the step."""

    total: Tensor  # what training minimises, label smoothing included
    nll: Tensor  # (N,) -log p of each target token, for perplexity; no gradient
    tokens: int  # that were predicted

    @property
    def per_token(self) -> float:
        return float(self.nll.sum()) / max(self.tokens, 1)


class Output(nn.Module, ABC):
    def prepare(self, encoded: Encoded, source: Padded) -> Nested:
        """What it keeps of the source, B rows; `scores` and `loss` find it in State.candidates."""
        return ()

    @abstractmethod
    def scores(self, hidden: Tensor, state: State) -> Tensor:
        """hidden (B, T, D) to (B, T, V): log-probabilities up to a constant per position."""

    @abstractmethod
    def loss(self, hidden: Tensor, state: State, target: Tensor, mask: Tensor) -> Loss:
        """The loss of target (B, T) where the mask (B, T) is true; never holds all scores."""

    def narrow(self, choices: Tensor) -> Output:
        """The same with these ids (N,) as its only choices, numbered by their index here."""
        raise UsageError("This model cannot use a shortlist; remove --shortlist.")

    def for_search(self) -> Output:
        """The same scores, faster for the few rows of a search step."""
        return self

    def quantized(self) -> Output:
        """Nearly the same scores, from eight-bit weights."""
        return self


class Projection(Output):
    """softmax(W h) over the vocabulary; W may be the embedding itself (Press & Wolf 2017).

    It is the first `size` rows of the weight: a matrix that is also the source's embedding has
    more, for tokens that are never a target. Label smoothing (Szegedy et al. 2016): the target is
    (1 - s) on the right token and s spread over all.
    """

    def __init__(self, weight: Tensor, smoothing: float, size: int) -> None:
        super().__init__()
        self.weight = weight
        self.smoothing = smoothing
        self.size = size
        self.product: Optional[_Product] = None  # faster than W h, where one was prepared

    @property
    def rows(self) -> Tensor:
        """(V, D): one for each choice."""
        return self.weight[: self.size]

    def scores(self, hidden: Tensor, state: State) -> Tensor:
        if self.product is None:
            return hidden @ self.rows.t()
        scores: Tensor = self.product(hidden)
        return scores

    def loss(self, hidden: Tensor, state: State, target: Tensor, mask: Tensor) -> Loss:
        smoothing = self.smoothing if self.training else 0.0
        hidden, target = hidden[mask], target[mask]  # (N, D), (N,)
        total, nll = chunked_loss(hidden, self.rows, target, smoothing)
        return Loss(total, nll, len(target))

    def narrow(self, choices: Tensor) -> Projection:
        narrowed = self._with(self.product and self.product.narrow(self.weight[choices]))
        narrowed._parameters.pop("weight", None)
        narrowed.weight = self.weight.t()[:, choices].t()
        narrowed.size = len(choices)
        return narrowed

    def for_search(self) -> Projection:
        return self._with(_PackedProduct(self.rows))

    def quantized(self) -> Projection:
        return self._with(_Int8Product(self.rows))

    def _with(self: Self, product: Optional[_Product]) -> Self:
        """The same output, what a subclass adds included, with another product."""
        made = copy(self)
        made._parameters = self._parameters.copy()
        made._buffers = self._buffers.copy()
        made._modules = self._modules.copy()
        made.product = product
        return made


class _Product(nn.Module, ABC):
    """hidden (..., D) times a matrix (V, D) that was given once."""

    @abstractmethod
    def forward(self, hidden: Tensor) -> Tensor:
        """(..., V)"""

    @abstractmethod
    def narrow(self, rows: Tensor) -> Optional[_Product]:
        """The product for some rows of the matrix (N, D); None if torch's own is better."""


class _PackedProduct(_Product):
    """The matrix is packed once for all steps."""

    def __init__(self, rows: Tensor) -> None:
        super().__init__()
        self.packed = pack(rows)

    def __deepcopy__(self, memo: dict[int, object]) -> _PackedProduct:
        return self  # never changed, and torch cannot copy a packed matrix

    def forward(self, hidden: Tensor) -> Tensor:
        return times(hidden, self.packed)

    def narrow(self, rows: Tensor) -> None:
        return None  # oneDNN would plan for the choices of every batch


class _Int8Product(_Product):
    def __init__(self, rows: Tensor) -> None:
        super().__init__()
        self.product = Int8Linear(rows)

    def forward(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.product(hidden)
        return scores

    def narrow(self, rows: Tensor) -> _Int8Product:
        return _Int8Product(rows)
