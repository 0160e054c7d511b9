"""The contract that every architecture keeps: properties, not golden numbers.

The architectures come from the union; a new family is tested as soon as it is a member. Beside
their miniatures, every position of a Transformer is tested with every mixer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, get_args

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from regard.data.annotations import INSIDE_WORD, ROOT
from regard.data.batch import EOS, Batch, Padded, Row
from regard.models import Architecture
from regard.models.base import EncoderDecoder, shift_right
from regard.models.transformer import TransformerConfig
from regard.models.weights import collect, install
from regard.nn.mixers import Looking, MixerSizes
from regard.nn.mixers.linformer import Linformer
from regard.nn.position import PositionKind
from regard.nn.probe import capture
from regard.nn.state import each
from regard.search.beam import Beam

SIZE, TARGETS = 23, 19  # the source's ids, the first of which are the target's


def combinations() -> Iterator[Any]:
    """One layer for each pair of position and mixer that the config does not refuse."""
    sizes = MixerSizes(neighbourhood=3, block=2, random_blocks=1, projected=3)
    small = {"layers": 1, "width": 16, "inner": 24, "dropout": 0.0, "mixing": sizes}
    for position, mixer in product(get_args(PositionKind), get_args(Looking)):
        causal = "full" if mixer == "linformer" else mixer
        mixers = {"mixers": (mixer,), "decoder_mixers": (causal,)}
        try:
            config = TransformerConfig(**small, **mixers, position=position)
        except ValidationError:
            continue
        yield pytest.param(config, id=f"{position}-{mixer}")


MEMBERS = [
    pytest.param(config, id=f"{config.kind}-{number}")
    for member in get_args(get_args(Architecture)[0])
    for number, config in enumerate(member.miniatures())
]
PAIRS = list(combinations())
assert len(PAIRS) == 7 * 5 - 3 * 2 - 4  # two mixers compare no places, a tree needs full attention
pytestmark = pytest.mark.parametrize("config", [*MEMBERS, *PAIRS])


def build(config: Any, seed: int = 0) -> EncoderDecoder:
    torch.manual_seed(seed)
    model: EncoderDecoder = config.build(SIZE, TARGETS)
    return model.eval()


def tree(length: int) -> list[int]:
    """Two branches and a long word, for models that read a tree."""
    return [ROOT, 0, 0, INSIDE_WORD, 2, 4, 1][:length]


def some_batch(seed: int = 1, rows: int = 3) -> Batch:
    """No token twice in a line: what follows it can be learned without knowing its place."""
    generator = torch.Generator().manual_seed(seed)

    def side(longest: int, size: int) -> Padded:
        lengths = torch.randint(2, longest + 1, (rows,), generator=generator).tolist()
        draws = [(4 + torch.randperm(size - 4, generator=generator)[: n - 1]) for n in lengths]
        return Padded.of_rows([Row(draw.tolist(), {"tree": tree(len(draw))}) for draw in draws])

    return Batch(side(7, SIZE), side(6, TARGETS))


def scores_of(model: EncoderDecoder, batch: Batch) -> Tensor:
    """Scores (B, T, V) of one teacher-forced pass."""
    hidden, state = model.read(batch)
    return model.output.scores(hidden, state)


def scores_by_parts(model: EncoderDecoder, batch: Batch, parts: list[int]) -> Tensor:
    """The same, with the decoder reading a few tokens at a time."""
    state = model.decoder.start(model.encoder(batch.source))
    read = []
    for tokens in shift_right(batch.target.values).split(parts, dim=1):
        hidden, state = model.decoder(tokens, state)
        read.append(model.output.scores(hidden, state))
    return torch.cat(read, dim=1)


def close(first: Tensor, second: Tensor) -> None:
    torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_every_target_has_a_score(config: Any) -> None:
    assert scores_of(build(config), some_batch()).shape[-1] == TARGETS


@torch.no_grad()
def test_one_pass_equals_step_by_step(config: Any) -> None:
    model, batch = build(config), some_batch()
    length = batch.target.values.shape[1]
    close(scores_of(model, batch), scores_by_parts(model, batch, [1] * length))


@torch.no_grad()
def test_one_pass_equals_prefix_then_rest(config: Any) -> None:
    model, batch = build(config), some_batch()
    length = batch.target.values.shape[1]
    close(scores_of(model, batch), scores_by_parts(model, batch, [2, length - 3, 1]))


@torch.no_grad()
def test_a_later_token_changes_nothing_before_it(config: Any) -> None:
    model, batch = build(config), some_batch()
    changed = batch.target.values.clone()
    changed[:, 3] = (changed[:, 3] + 1) % TARGETS
    other = Batch(batch.source, replace(batch.target, values=changed))
    before, after = scores_of(model, batch), scores_of(model, other)
    close(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


@torch.no_grad()
def test_the_source_matters(config: Any) -> None:
    model, batch = build(config), some_batch()
    changed = batch.source.values.clone()
    changed[:, 0] = (changed[:, 0] + 1) % SIZE
    other = Batch(replace(batch.source, values=changed), batch.target)
    same = torch.allclose(scores_of(model, batch), scores_of(model, other))
    assert same != model.reads_source  # to a language model it must not


@torch.no_grad()
def test_padding_changes_nothing(config: Any) -> None:
    model, batch = build(config), some_batch()

    def longer(side: Padded) -> Padded:
        more = torch.zeros(len(side.lengths), 4, dtype=torch.long)
        return Padded(
            torch.cat([side.values, more], dim=1),
            side.lengths,
            {"tree": torch.cat([side.annotations["tree"], torch.full_like(more, ROOT)], dim=1)},
        )

    length = batch.target.values.shape[1]
    padded = scores_of(model, Batch(longer(batch.source), longer(batch.target)))[:, :length]
    real = batch.target.mask
    close(scores_of(model, batch)[real], padded[real])


@torch.no_grad()
def test_other_rows_change_nothing(config: Any) -> None:
    model, batch = build(config), some_batch()
    together = scores_of(model, batch)
    for row in range(len(batch)):
        alone = scores_of(model, batch.rows(row, row + 1))[0]
        length = int(batch.target.lengths[row])
        close(together[row, :length], alone[:length])


@torch.no_grad()
def test_select_then_step_equals_step_then_index(config: Any) -> None:
    model, batch = build(config), some_batch()
    state = model.decoder.start(model.encoder(batch.source)).spread(2)
    tokens = torch.randint(4, TARGETS, (6, 3), generator=torch.Generator().manual_seed(3))
    _, state = model.step(tokens, state)
    rows = torch.tensor([1, 0, 2, 2, 5, 4])  # hypotheses stay with their sentence
    following = torch.arange(4, 10)[:, None]
    selected, _ = model.step(following, state.select(rows))
    for row, origin in enumerate(rows.tolist()):
        tried = following.clone()
        tried[origin] = following[row]
        close(selected[row], model.step(tried, state)[0][origin])


@torch.no_grad()
def test_spread_copies_are_equal_and_the_source_is_not_copied(config: Any) -> None:
    model, batch = build(config), some_batch()
    state = model.decoder.start(model.encoder(batch.source))
    spread = state.spread(3)

    def must_be_one_a_sentence(tensor: Tensor) -> Tensor:
        assert len(tensor) == len(batch)
        return tensor

    each(spread.shared, must_be_one_a_sentence)
    tokens = torch.tensor([4, 5, 6])[:, None]
    single, _ = model.step(tokens, state)
    triple, _ = model.step(tokens.repeat_interleave(3, dim=0), spread)
    close(single.repeat_interleave(3, dim=0), triple)


@torch.no_grad()
def test_sentences_can_leave(config: Any) -> None:
    model, batch = build(config), some_batch()
    state = model.decoder.start(model.encoder(batch.source)).spread(2)
    tokens = torch.randint(4, TARGETS, (6, 2), generator=torch.Generator().manual_seed(3))
    _, state = model.step(tokens, state)
    everyone, _ = model.step(torch.full((6, 1), 7), state)
    staying, _ = model.step(torch.full((4, 1), 7), state.keep(torch.tensor([0, 2])))
    close(everyone[[0, 1, 4, 5]], staying)


@torch.no_grad()
def test_captured_equals_fast(config: Any) -> None:
    model, batch = build(config), some_batch()
    fast = scores_of(model, batch)
    with capture(model) as weights:
        captured = scores_of(model, batch)
    close(fast, captured)
    assert all(weights.values())  # each attention that could be watched was
    for name, passes in weights.items():
        for weight in passes:
            assert weight.dim() == 4
            if not isinstance(model.get_submodule(name), Linformer):  # its weights have any sign
                close(weight.sum(dim=-1), torch.ones(weight.shape[:-1]))


def test_gradient_reaches_every_parameter(config: Any) -> None:
    model = build(config).train()
    model(some_batch(rows=8)).total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        if not name.endswith("project.bias"):  # a key's bias moves all scores alike
            assert parameter.grad.abs().sum() > 0, name


def test_the_loss_is_that_of_the_scores(config: Any) -> None:
    model, batch = build(config), some_batch()
    loss = model(batch)
    real = batch.target.mask
    logs = scores_of(model, batch).log_softmax(dim=-1)
    expected = -logs.gather(2, batch.target.values[:, :, None])[:, :, 0][real].sum()
    close(loss.nll.sum(), expected.detach())
    close(model.log_probabilities(batch).sum(), -expected.detach())


def test_one_batch_can_be_overfitted(config: Any) -> None:
    model = build(config).train()
    batch = some_batch() if model.reads_source else some_batch(rows=1)  # nothing tells rows apart
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(120):
        optimizer.zero_grad()
        loss = model(batch)
        loss.total.backward()
        optimizer.step()
    model.eval()
    assert model(batch).per_token < 0.15  # smoothing allows no less than 0.1
    found = model.generate(batch.source, Beam(beam=1))
    rows = zip(batch.target.values, batch.target.lengths, strict=True)
    assert [hypotheses[0].tokens for hypotheses in found] == [
        tuple(row[: int(length) - 1].tolist()) for row, length in rows
    ]


@torch.no_grad()
def test_config_build_save_load_gives_the_same_scores(config: Any) -> None:
    model, batch = build(config), some_batch()
    again = type(config).model_validate_json(config.model_dump_json())
    other = build(again, seed=9)
    install(other, {name: tensor.clone() for name, tensor in collect(model).items()})
    assert torch.equal(scores_of(model, batch), scores_of(other, batch))


@torch.no_grad()
def test_search_reports_the_models_own_probabilities(config: Any) -> None:
    model, batch = build(config), some_batch()
    for number, hypotheses in enumerate(model.generate(batch.source, Beam(beam=3, best=3))):
        assert len(hypotheses) == 3
        assert sorted(-found.score for found in hypotheses) == [-h.score for h in hypotheses]
        target = Padded.of([[*hypotheses[0].tokens, EOS]])
        again = model.log_probabilities(Batch(batch.source.rows(number, number + 1), target))
        assert float(again.sum()) == pytest.approx(hypotheses[0].log_probability, abs=1e-3)


@torch.no_grad()
def test_a_sentence_alone_and_in_a_batch_gives_the_same(config: Any) -> None:
    model, batch = build(config), some_batch()
    together = model.generate(batch.source, Beam(beam=3))
    for row in range(len(batch)):
        alone = model.generate(batch.source.rows(row, row + 1), Beam(beam=3))
        assert alone[0][0].tokens == together[row][0].tokens
