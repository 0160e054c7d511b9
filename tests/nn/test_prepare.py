"""Models prepared for search and quantized: frozen copies of the same model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from regard.data.annotation import whole
from regard.data.annotations import ROOT
from regard.data.batch import Batch, Padded, Row
from regard.models.base import EncoderDecoder
from regard.models.ensemble import EnsembleConfig
from regard.models.recurrent import RecurrentConfig
from regard.models.transformer import TransformerConfig
from regard.nn.fast.cache import Growing
from regard.nn.fast.prepare import prepare_for_search, quantize
from regard.nn.output import Projection
from regard.nn.state import Nested, State
from regard.search.beam import Beam

SOURCE = Padded.of([[7, 8, 9, 2], [4, 2]])


def small() -> EncoderDecoder:
    torch.manual_seed(0)
    return TransformerConfig(layers=2, width=32, inner=48, heads=2).build(50, 50).eval()


def test_a_prepared_model_translates_as_before() -> None:
    model = small()
    prepared = prepare_for_search(model)
    products = [part for part in prepared.modules() if isinstance(part, nn.Linear)]
    assert products
    assert all(part.weight.t().is_contiguous() for part in products)
    assert prepared.decoder.embedding.tokens.weight.is_contiguous()  # a lookup reads whole rows
    before, after = (each.generate(SOURCE, Beam(beam=3)) for each in (model, prepared))
    assert [best[0].tokens for best in before] == [best[0].tokens for best in after]


@pytest.mark.parametrize("prepare", [prepare_for_search, quantize])
def test_the_given_model_is_left_untouched(
    prepare: Callable[[EncoderDecoder], EncoderDecoder],
) -> None:
    model = small().train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    strides = {name: each.stride() for name, each in model.named_parameters()}
    prepared = prepare(model)
    assert model.training
    assert not prepared.training
    assert not any(each.requires_grad for each in prepared.parameters())
    assert all(each.requires_grad for each in model.parameters())
    assert {name: each.stride() for name, each in model.named_parameters()} == strides
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert all(each.abs().sum() > 0 for each in [prepared.decoder.embedding.tokens.weight])


@pytest.mark.parametrize("config", TransformerConfig.miniatures(), ids=str)
def test_every_kind_of_attention_weighs_as_before(config: TransformerConfig) -> None:
    torch.manual_seed(0)
    model = config.build(50, 50).eval()
    trees = (
        [{"tree": whole([1, ROOT, 1])}, {"tree": whole([ROOT])}] if config.annotations else [{}, {}]
    )
    ids = ([7, 8, 9], [4])
    source = Padded.of_rows([Row(each, tree) for each, tree in zip(ids, trees, strict=True)])
    batch = Batch(source, Padded.of([[5, 6, 2], [9, 8, 7, 2]]))
    before = model.log_probabilities(batch)
    prepared = prepare_for_search(model)
    torch.testing.assert_close(prepared.log_probabilities(batch), before)
    twice = prepare_for_search(prepared)  # scales queries once only
    torch.testing.assert_close(twice.log_probabilities(batch), before)


def kinds(nested: Nested) -> set[type]:
    if isinstance(nested, (Tensor, Growing)):
        return {type(nested)}
    return set().union(*map(kinds, nested))


def test_only_a_prepared_model_has_a_cache_that_grows_in_place() -> None:
    model = small()
    for each, expected in ((model, False), (prepare_for_search(model), True)):
        state = each.decoder.start(each.encoder(SOURCE))
        for _ in range(2):
            _, state = each.step(torch.tensor([[5], [6]]), state)
            assert (Growing in kinds(state.shared)) == expected


class Biased(Projection):
    """softmax(W h + b)."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__(weight, 0.0, len(weight))
        self.bias = nn.Parameter(bias)

    def scores(self, hidden: Tensor, state: State) -> Tensor:
        return super().scores(hidden, state) + self.bias

    def narrow(self, choices: Tensor) -> Projection:
        narrowed = super().narrow(choices)
        narrowed.bias = nn.Parameter(self.bias[choices])
        return narrowed


@torch.no_grad()
def test_what_a_subclass_adds_to_the_scores_is_kept() -> None:
    model = small()
    bias = torch.randn(50) * 10
    model.output = Biased(model.output.weight, bias)
    hidden, state = torch.randn(1, 3, 32), State((), ())
    expected, choices = model.output.scores(hidden, state), torch.arange(4, 50, 3)
    prepared, rough = prepare_for_search(model).output, quantize(model).output
    assert prepared.product is not None
    assert rough.product is not None
    torch.testing.assert_close(prepared.scores(hidden, state), expected)
    assert float((rough.scores(hidden, state) - expected).abs().max()) < 0.1
    for output in (model.output, prepared, rough):
        found = output.narrow(choices).scores(hidden, state)
        assert float((found - expected[..., choices]).abs().max()) < 0.1
        assert output.scores(hidden, state).shape == expected.shape  # not narrowed itself


@torch.no_grad()
def test_every_output_of_an_ensemble_is_prepared() -> None:
    for config in EnsembleConfig.miniatures():
        model = config.build(50, 50).eval()
        for each in (prepare_for_search(model), quantize(model)):
            outputs = [part for part in each.modules() if isinstance(part, Projection)]
            assert len(outputs) == config.members
            assert all(output.product is not None for output in outputs)
            assert each.generate(SOURCE, Beam(beam=2))


def test_tied_weights_stay_tied() -> None:
    torch.manual_seed(0)
    prepared = prepare_for_search(RecurrentConfig(width=16).build(50, 50))
    assert prepared.output.weight is prepared.decoder.words.tokens.weight
