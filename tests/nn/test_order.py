"""Positions in a dependency tree: what an encoder makes of them."""

from __future__ import annotations

import pytest
import torch

from regard.data.annotation import whole
from regard.data.annotations import ROOT
from regard.data.batch import Padded, Row
from regard.errors import RegardError
from regard.models.transformer import TransformerConfig

WORDS = [7, 8, 9, 10]
CHAIN = [ROOT, 0, 1, 2]
FAN = [ROOT, 0, 0, 0]


def encode(*heads: list[int] | None, position: str = "syntax") -> torch.Tensor:
    torch.manual_seed(0)
    config = TransformerConfig(layers=1, width=16, inner=24, heads=2, dropout=0)
    model = config.changed(position=position).build(20, 20).eval()
    rows = [Row(WORDS, {} if tree is None else {"tree": whole(tree)}) for tree in heads]
    with torch.no_grad():
        output: torch.Tensor = model.encoder(Padded.of_rows(rows)).output
    return output


def test_another_tree_over_the_same_words_is_another_encoding() -> None:
    chain, fan = encode(CHAIN, FAN)
    assert not torch.allclose(chain[2], fan[2], atol=1e-3)
    line_chain, line_fan = encode(CHAIN, FAN, position="sinusoidal")
    assert torch.equal(line_chain, line_fan)


def test_a_line_without_its_tree_is_refused() -> None:
    with pytest.raises(RegardError, match="give it with the line"):
        encode(None)


def test_trees_are_for_full_attention_and_for_sources() -> None:
    with pytest.raises(ValueError, match="use the mixer full"):
        TransformerConfig(position="syntax", mixers=("window",))
    assert TransformerConfig(position="syntax").decoder.position == "sinusoidal"
