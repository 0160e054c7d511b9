"""Token vectors and which of them are shared."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from regard.errors import UsageError

Tying = Literal["none", "target", "all"]
"""What is one matrix: nothing; the target's embedding and the output; these and the source's."""


def embed(size: int, width: int) -> nn.Embedding:
    table = nn.Embedding(size, width)
    nn.init.normal_(table.weight, std=width**-0.5)
    return table


def share_embeddings(
    source_size: int, target_size: int, width: int, tying: Tying
) -> tuple[nn.Embedding, nn.Embedding, Tensor]:
    """The source's and target's embeddings and the output's matrix (Press & Wolf 2017).

    The first rows of the matrix are the target's; one for all may have more, of the source alone.
    """
    if tying == "all" and source_size < target_size:
        raise UsageError(
            "Tying all three embeddings needs one vocabulary for both sides: set "
            "tokenizer.joint=true or model.tying=target."
        )
    target = embed(source_size if tying == "all" else target_size, width)
    source = target if tying == "all" else embed(source_size, width)
    output = embed(target_size, width).weight if tying == "none" else target.weight
    return source, target, output
