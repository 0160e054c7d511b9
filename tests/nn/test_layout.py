"""Weights laid out for search: other strides, the same model."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.data.annotations import ROOT
from regard.data.batch import Batch, Padded, Row
from regard.models.transformer import TransformerConfig
from regard.nn.fast.layout import PackedProjection, lay_out_for_search
from regard.search.beam import Beam


def test_a_model_laid_out_for_search_translates_as_before() -> None:
    torch.manual_seed(0)
    model = TransformerConfig(layers=2, width=32, inner=48, heads=2).build(50, 50).eval()
    source = Padded.of([[7, 8, 9, 2], [4, 2]])
    before = model.generate(source, Beam(beam=3))
    narrow = model.output.narrow(torch.arange(20)).scores(torch.ones(1, 1, 32), None)
    lay_out_for_search(model)
    products = [part for part in model.modules() if isinstance(part, nn.Linear)]
    assert products
    assert all(part.weight.t().is_contiguous() for part in products)
    assert isinstance(model.output, PackedProjection)
    assert model.decoder.embedding.tokens.weight.is_contiguous()  # a lookup reads whole rows
    after = model.generate(source, Beam(beam=3))
    assert [best[0].tokens for best in before] == [best[0].tokens for best in after]
    torch.testing.assert_close(
        model.output.narrow(torch.arange(20)).scores(torch.ones(1, 1, 32), None), narrow
    )


@pytest.mark.parametrize("config", TransformerConfig.miniatures(), ids=str)
def test_every_kind_of_attention_weighs_as_before(config: TransformerConfig) -> None:
    torch.manual_seed(0)
    model = config.build(50, 50).eval()
    trees = ([1, ROOT, 1], [ROOT])
    rows = [
        Row(ids, {"tree": tree} if config.annotations else {})
        for ids, tree in zip(([7, 8, 9], [4]), trees, strict=True)
    ]
    source = Padded.of_rows(rows)
    batch = Batch(source, Padded.of([[5, 6, 2], [9, 8, 7, 2]]))
    before = model.log_probabilities(batch)
    lay_out_for_search(model)
    torch.testing.assert_close(model.log_probabilities(batch), before)
    lay_out_for_search(model)  # scales queries once only
    torch.testing.assert_close(model.log_probabilities(batch), before)
