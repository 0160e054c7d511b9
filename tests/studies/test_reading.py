"""Studies give trained models sources as training does: with their end."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.data.batch import EOS
from regard.models.base import EncoderDecoder
from regard.runs.folder import Run
from regard.studies import adding_positions, gradient_path
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory


class Spy(Laboratory):
    """Keeps the ids that are looked up in the embeddings of encoders."""

    def model(self, run: Run) -> EncoderDecoder:
        model = super().model(run)

        def note(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
            self.__dict__.setdefault("read", []).append(inputs[0])

        for each in model.encoder.modules():
            if isinstance(each, nn.Embedding):
                each.register_forward_pre_hook(note)
        return model


def test_the_gradient_is_measured_with_the_end_of_the_source(laboratory: Laboratory) -> None:
    spy = Spy(laboratory.folder, quick=True, seeds=(1,))
    assert len(gradient_path.trained_ratio(spy, "attention")) == 1
    ids = spy.__dict__["read"][0]  # a table that both sides share is read by the encoder first
    lengths = (ids > 0).sum(dim=1)
    assert (ids.gather(1, lengths[:, None] - 1) == EOS).all()


def test_the_scores_of_words_and_positions_include_the_end(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, measured = [], adding_positions.scores

    def note(encoder: nn.Module, ids: list[int]) -> dict[str, torch.Tensor]:
        given.append(ids)
        return measured(encoder, ids)  # type: ignore[arg-type]

    monkeypatch.setattr(adding_positions, "scores", note)
    task = GrammarTask(laboratory)
    adding_positions.Weights(task, task.runs()[0])
    assert given
    assert all(ids[-1] == EOS for ids in given)


def test_the_gradient_is_that_of_words_alone() -> None:
    model = gradient_path.untrained("lstm", "none", 1)
    assert len(gradient_path.norms(model, [[5, 6, 7]], [[8]])) == 3
