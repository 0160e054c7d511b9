"""The Neural Turing Machine beyond the contract: freezing, memory, feeding."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.config import check
from regard.data.batch import Batch, Padded
from regard.errors import UsageError
from regard.models.base import EncoderDecoder
from regard.models.example import EXAMPLE_SIZES
from regard.models.turing import MachineState, TuringConfig
from regard.models.weights import collect, install
from regard.nn.captured import by_sentence, watch

SMALL = TuringConfig.miniatures()[0]


def built(config: TuringConfig) -> EncoderDecoder:
    torch.manual_seed(1)
    return config.build(*EXAMPLE_SIZES).eval()


def tensors(state: MachineState) -> tuple[Tensor, ...]:
    return (*state[:3], *state.controller)


@torch.no_grad()
@pytest.mark.parametrize("config", TuringConfig.miniatures())
def test_a_row_is_frozen_after_its_end(config: TuringConfig) -> None:
    """Memory, weights, what was read and the controller are those of the line alone."""
    model = built(config)
    lines = [[5, 6, 2], [7, 8, 9, 10, 11, 2], [12, 2]]
    together = model.encoder(Padded.of(lines)).final
    assert isinstance(together, MachineState)
    for row, line in enumerate(lines):
        alone = tensors(model.encoder(Padded.of([line])).final)
        for mine, its in zip(tensors(together), alone, strict=True):
            torch.testing.assert_close(mine[row], its[0], rtol=1e-5, atol=1e-6)


@torch.no_grad()
def test_the_decoder_goes_on_from_the_memory_of_the_encoder() -> None:
    model = built(SMALL)
    source = Padded.of([[5, 6, 2]])
    encoded = model.encoder(source)
    state = model.decoder.start(encoded)
    assert state.past is encoded.final
    _, after = model.decoder(torch.tensor([[1]]), state)
    assert not torch.equal(after.past.memory, state.past.memory)


def test_no_parameter_depends_on_the_size_of_the_memory() -> None:
    model, larger = built(SMALL), built(SMALL.changed(slots=40))
    install(larger, collect(model))
    assert larger.encoder(Padded.of([[5, 2]])).final[0].shape[1] == 40


def test_the_machine_is_one_module_in_encoder_and_decoder() -> None:
    model = built(SMALL)
    assert model.encoder.machine is model.decoder.machine
    names = [name for name, _ in model.named_parameters()]
    assert not any("decoder.machine" in name for name in names)


@torch.no_grad()
def test_the_trace_is_of_reading_then_writing_without_padding() -> None:
    model = built(SMALL)
    rows = [([5, 6, 2], [7, 2]), ([8, 9, 10, 11, 2], [4, 5, 6, 2])]
    batch = Batch(Padded.of([source for source, _ in rows]), Padded.of([t for _, t in rows]))
    together = by_sentence(watch(model, model.log_probabilities, batch)[1], batch)
    for (source, target), found in zip(rows, together, strict=True):
        single = Batch(Padded.of([source]), Padded.of([target]))
        (alone,) = by_sentence(watch(model, model.log_probabilities, single)[1], single)
        assert list(found.kinds) == ["reads", "writes"]
        for kind in found.kinds:
            assert found.of(kind)[0].shape == (1, len(source) + len(target), SMALL.slots)
            torch.testing.assert_close(
                torch.tensor(found.of(kind)[0]), torch.tensor(alone.of(kind)[0])
            )


def test_a_shift_that_goes_around_is_refused() -> None:
    with pytest.raises(UsageError, match="a shift of 3 needs 7 slots or more"):
        check(TuringConfig, {"shift": 3, "slots": 6})
