"""How weights lie in memory: one way suits training, another the few rows of a step of search."""

from __future__ import annotations

from torch import Tensor, nn

from regard.nn.output import Projection


def lay_out_for_search(model: nn.Module) -> None:
    """Let the weights of every product lie input by input instead of output by output.

    A product of some tens of rows then takes three quarters of the time, of eight rows half. An
    output that shared its weights with an embedding gets its own. Not to train with.
    """
    for part in model.modules():
        if isinstance(part, nn.Linear | Projection):
            weight = part.rows if isinstance(part, Projection) else part.weight
            part.weight = nn.Parameter(_by_input(weight.detach()), requires_grad=False)


def _by_input(weight: Tensor) -> Tensor:
    """The same (outputs, inputs), as a view of a contiguous (inputs, outputs)."""
    return weight.t().contiguous().t()
