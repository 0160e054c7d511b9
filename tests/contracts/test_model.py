"""The contract that the model of every family keeps: properties, not golden numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
import torch
from torch import Tensor

from regard.data.annotations import ANNOTATIONS
from regard.data.batch import EOS, Batch, Padded
from regard.errors import UsageError
from regard.models.base import Family, Model, Writes
from regard.models.example import EXAMPLE_SIZES
from regard.models.weights import collect, install
from regard.nn.embedding import Tying
from regard.nn.fast.prepare import prepare_for_search, quantize
from regard.nn.probe import capture, watched
from regard.search.beam import Beam

SOURCES, TARGETS = EXAMPLE_SIZES


def close(first: Tensor, second: Tensor) -> None:
    torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-5)


def test_a_family_answers_what_it_is_asked(config: Family, model: Model) -> None:
    assert config.kind
    assert config.tying in get_args(Tying)
    assert config.writes in get_args(Writes)
    assert model.reads_source == config.reads_source
    assert model.length_limit == config.length_limit
    assert model.writes == config.writes


def test_an_example_is_what_the_family_reads(config: Family, batch: Batch) -> None:
    assert len(batch) == len(batch.source.lengths) == 3
    assert (batch.source.values.shape[1] > 0) == config.reads_source
    assert list(batch.source.annotations) == [kind.name for kind in config.annotations]
    assert int(batch.target.values.max()) < TARGETS
    assert bool((batch.source.values < SOURCES).all())
    again, other = config.example(rows=3, seed=1), config.example(rows=3, seed=2)
    assert torch.equal(again.target.values, batch.target.values)
    assert not torch.equal(other.target.lengths, batch.target.lengths) or not torch.equal(
        other.target.values, batch.target.values
    )


def test_choices_are_distributions_that_give_the_log_probabilities(
    model: Model, batch: Batch, choices: int
) -> None:
    logs = model.choices(batch)
    if logs is None:
        pytest.skip("this model has no distribution over a vocabulary")
    assert logs.shape == (*batch.target.values.shape, choices)
    close(logs.exp().sum(dim=-1), torch.ones(logs.shape[:-1]))
    chosen = logs.gather(2, batch.target.values[:, :, None])[:, :, 0]
    close(model.log_probabilities(batch), chosen.masked_fill(~batch.target.mask, 0.0))


def test_the_loss_is_that_of_the_log_probabilities(model: Model, batch: Batch) -> None:
    loss, logs = model(batch), model.log_probabilities(batch)
    assert len(loss.nll) == loss.tokens == batch.tokens
    close(loss.nll.sum(), -logs.sum())


@torch.no_grad()
def test_the_source_matters(config: Family, model: Model, batch: Batch) -> None:
    values = batch.source.values.clone()
    if config.reads_source:
        values[:, 0] = (values[:, 0] + 1) % SOURCES
        numbers = {
            name: each + 1 if each.is_floating_point() else each
            for name, each in batch.source.annotations.items()
        }
        other = replace(batch.source, values=values, annotations=numbers)
    else:
        other = Padded.of([[5, 6, EOS]] * len(batch))
    same = torch.allclose(
        model.log_probabilities(batch), model.log_probabilities(Batch(other, batch.target))
    )
    assert same != config.reads_source  # a language model must not see it


@torch.no_grad()
def test_padding_changes_nothing(model: Model, batch: Batch) -> None:
    def longer(side: Padded) -> Padded:
        more = torch.zeros(len(side.lengths), 4, dtype=torch.long)
        annotations = {
            name: torch.cat([values, _fill(name, values, more.shape[1])], dim=1)
            for name, values in side.annotations.items()
        }
        return Padded(torch.cat([side.values, more], dim=1), side.lengths, annotations)

    length = batch.target.values.shape[1]
    padded = model.log_probabilities(Batch(longer(batch.source), longer(batch.target)))
    close(model.log_probabilities(batch), padded[:, :length])
    assert not padded[:, length:].any()


def _fill(name: str, values: Tensor, columns: int) -> Tensor:
    shape = (len(values), columns, *values.shape[2:])
    return values.new_full(shape, ANNOTATIONS[name].fill)


@torch.no_grad()
def test_other_rows_change_nothing(model: Model, batch: Batch) -> None:
    in_batch = model.log_probabilities(batch)
    for row in range(len(batch)):
        alone = model.log_probabilities(batch.rows(row, row + 1))[0]
        close(in_batch[row, : len(alone)], alone)


@torch.no_grad()
def test_a_model_prepared_for_search_gives_the_same_probabilities(
    model: Model, batch: Batch
) -> None:
    prepared = prepare_for_search(model)
    close(prepared.log_probabilities(batch), model.log_probabilities(batch))
    for mine, theirs in zip(
        prepared.generate(batch.source, Beam(beam=2)),
        model.generate(batch.source, Beam(beam=2)),
        strict=True,
    ):
        assert mine[0].tokens == theirs[0].tokens


@torch.no_grad()
def test_a_model_with_eight_bit_weights_gives_nearly_the_same_probabilities(
    model: Model, batch: Batch
) -> None:
    found = quantize(model).log_probabilities(batch)
    expected = model.log_probabilities(batch)
    torch.testing.assert_close(found.mean(), expected.mean(), rtol=0.1, atol=0.1)


@torch.no_grad()
def test_captured_equals_fast(model: Model, batch: Batch) -> None:
    fast = model.log_probabilities(batch)
    with capture(model) as weights:
        captured = model.log_probabilities(batch)
    close(fast, captured)
    assert all(weights.values())  # each attention that could be watched was
    for name, passes in weights.items():
        for weight in passes:
            assert weight.dim() == 4
            module = watched(model)[name]
            if module.normalised:
                sums = weight.sum(dim=-1)
                if module.looks[0] == "sentences":  # those that a line does not have
                    sums = torch.where(sums == 0, 1.0, sums)
                close(sums, torch.ones(weight.shape[:-1]))


def test_gradient_reaches_every_parameter(config: Family, model: Model) -> None:
    model.train()(config.example(rows=8, seed=1)).total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        for number, part in enumerate(_parts_that_matter(model, name, parameter.grad)):
            assert part.abs().sum() > 0, f"{name}, part {number}"


def _parts_that_matter(model: Model, name: str, grad: Tensor) -> list[Tensor]:
    """All of a gradient, except that of the keys' bias: it adds the same number to all scores of a
    query, which softmax ignores. Queries, keys and values, or keys and values, have one bias."""
    if not name.endswith("attention.project.bias"):
        return [grad]
    width = model.get_parameter(name.removesuffix("bias") + "weight").shape[1]
    *query, _, value = grad.split(width)
    assert len(query) == (0 if "source_attention" in name else 1)
    return [*query, value]


def test_one_batch_can_be_overfitted(config: Family, model: Model) -> None:
    # without a source nothing tells rows apart
    batch = config.example(rows=3 if config.reads_source else 1, seed=1)
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(120):
        optimizer.zero_grad()
        loss = model(batch)
        loss.total.backward()
        optimizer.step()
    model.eval()
    nll = model(batch).nll
    assert nll[nll > 0].mean() < 0.15  # smoothing allows no less than 0.1; EOS may be certain
    found = model.generate(batch.source, Beam(beam=1))
    rows = zip(batch.target.values, batch.target.lengths, strict=True)
    assert [hypotheses[0].tokens for hypotheses in found] == [
        tuple(row[: int(length) - 1].tolist()) for row, length in rows
    ]


@torch.no_grad()
def test_config_build_save_load_gives_the_same_probabilities(
    config: Family, model: Model, batch: Batch
) -> None:
    again = type(config).model_validate_json(config.model_dump_json())
    torch.manual_seed(9)
    other = again.build(*EXAMPLE_SIZES).eval()
    install(other, {name: tensor.clone() for name, tensor in collect(model).items()})
    assert torch.equal(model.log_probabilities(batch), other.log_probabilities(batch))


@torch.no_grad()
def test_search_reports_the_models_own_probabilities(model: Model, batch: Batch) -> None:
    for number, hypotheses in enumerate(model.generate(batch.source, Beam(beam=3, best=3))):
        assert len(hypotheses) == 3
        assert sorted(-found.score for found in hypotheses) == [-h.score for h in hypotheses]
        target = Padded.of([[*hypotheses[0].tokens, EOS]])
        again = model.log_probabilities(Batch(batch.source.rows(number, number + 1), target))
        assert float(again.sum()) == pytest.approx(hypotheses[0].log_probability, abs=1e-3)


@torch.no_grad()
def test_a_sentence_alone_and_in_a_batch_gives_the_same(model: Model, batch: Batch) -> None:
    in_batch = model.generate(batch.source, Beam(beam=3))
    for row in range(len(batch)):
        alone = model.generate(batch.source.rows(row, row + 1), Beam(beam=3))
        assert alone[0][0].tokens == in_batch[row][0].tokens


@torch.no_grad()
def test_limits_bound_the_targets(model: Model, batch: Batch) -> None:
    limits = torch.tensor([1, 2, 4])
    found = model.generate(batch.source, Beam(beam=2, best=2), limits=limits)
    for limit, hypotheses in zip(limits.tolist(), found, strict=True):
        assert all(len(each.tokens) < limit for each in hypotheses)


@torch.no_grad()
def test_a_model_narrowed_to_all_choices_is_the_same(model: Model, batch: Batch) -> None:
    try:
        narrowed = model.narrowed(torch.arange(TARGETS))
    except UsageError:
        return
    close(narrowed.log_probabilities(batch), model.log_probabilities(batch))
