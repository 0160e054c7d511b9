"""From hidden vectors to choices: scores for search, the loss for training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Optional, TypeVar

from torch import Tensor, nn
from torch.nn import functional

from regard.data.batch import Padded
from regard.errors import UsageError
from regard.nn.fast.frozen import Int8Product, PackedProduct, Product
from regard.nn.fast.loss import chunked_loss
from regard.nn.state import Encoded, Nested, State

SomeOutput = TypeVar("SomeOutput", bound="Output")


@dataclass(frozen=True)
class Loss:
    """Of the target tokens of a batch, as a sum; the trainer divides by the tokens of the step."""

    total: Tensor  # what training minimises, label smoothing included
    nll: Tensor  # (N,) -log p of each target token, for perplexity; no gradient
    tokens: int  # N, EOS included


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
    """softmax(W h + b) over the vocabulary; W may be the embedding itself (Press & Wolf 2017), and
    most models have no bias b.

    W is the first `size` rows of the weight: a matrix that is also the source's embedding has
    more, for tokens that are never a target. Label smoothing (Szegedy et al. 2016): the target is
    (1 - s) on the right token and s spread over all.
    """

    def __init__(
        self, weight: Tensor, smoothing: float, size: int, bias: Optional[Tensor] = None
    ) -> None:
        super().__init__()
        self.weight = weight
        self.bias = bias
        self.smoothing = smoothing
        self.size = size
        self.product: Optional[Product] = None  # W h, faster, where the weights are frozen

    @property
    def rows(self) -> Tensor:
        """(V, D): one for each choice."""
        return self.weight[: self.size]

    def scores(self, hidden: Tensor, state: State) -> Tensor:
        if self.product is None:
            return functional.linear(hidden, self.rows, self.bias)
        scores: Tensor = self.product(hidden)
        return scores

    def loss(self, hidden: Tensor, state: State, target: Tensor, mask: Tensor) -> Loss:
        smoothing = self.smoothing if self.training else 0.0
        hidden, target = hidden[mask], target[mask]  # (N, D), (N,)
        total, nll = chunked_loss(hidden, self.rows, target, smoothing, self.bias)
        return Loss(total, nll, len(target))

    def narrow(self, choices: Tensor) -> Projection:
        bias = None if self.bias is None else self.bias[choices]
        narrowed = self._with(self.product and self.product.narrow(self.weight[choices], bias))
        for name in ("weight", "bias"):
            narrowed._parameters.pop(name, None)
        narrowed.bias = bias
        narrowed.weight = self.weight.t()[:, choices].t()
        narrowed.size = len(choices)
        return narrowed

    def for_search(self) -> Projection:
        return self._with(PackedProduct(self.rows, self.bias))

    def quantized(self) -> Projection:
        return self._with(Int8Product(self.rows, self.bias))

    def _with(self, product: Optional[Product]) -> Projection:
        made = shallow_copy(self)
        made.product = product
        return made


def shallow_copy(output: SomeOutput) -> SomeOutput:
    """Another output with the same parameters and parts, each of which can be replaced."""
    made = copy(output)
    made._parameters = output._parameters.copy()
    made._buffers = output._buffers.copy()
    made._modules = output._modules.copy()
    return made
