"""Checks that an exported model agrees with its run: the same greedy translations, and the same
log-probabilities of their tokens."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.data.batch import EOS, Batch, Padded, Row
from regard.data.encoding import LineEncoder
from regard.data.line import Line
from regard.data.text import read_plain
from regard.errors import RegardError, UsageError
from regard.interop.fitting import FIRST, RESERVED_IDS
from regard.models.base import Model
from regard.runs.folder import Run
from regard.search.beam import Beam

SENTENCES = 16
MAX_PIECES = 60
"""Of a sentence that is checked."""

TOLERANCE = 1e-4
"""Of the log-probability of each token."""

INT8_TOLERANCE = 0.1
"""Of the log-probability of a token on average, with weights of eight bits: these round, so that
a translation may differ where two tokens are almost equally probable. Processors without
instructions for such products round more: 0.065 with AVX2, for a small model of width 64."""


class Other(ABC):
    """The exported model, computed by the tool that it was exported for."""

    name: str
    renormalised = False
    """Whether the reserved ids have a probability of 0."""

    @abstractmethod
    def greedy(self, source: list[int], limit: int) -> list[int]:
        """The translation of ids without EOS, at most `limit` tokens, without EOS."""

    @abstractmethod
    def scores(self, source: list[int], target: list[int]) -> list[float]:
        """log p of each token of the target, and of EOS."""


@dataclass(frozen=True)
class Agreement:
    """How far two sides agree."""

    sentences: int
    same: int
    worst: float  # difference of the log-probability of a token
    mean: float  # the same on average

    def __str__(self) -> str:
        return (
            f"{self.same} of {self.sentences} translations are the same, and log-probabilities of "
            f"tokens differ by at most {self.worst:.1e}, on average by {self.mean:.1e}"
        )


def sample_lines(run: Run, check: Path | None) -> list[str]:
    """Lines of the given file, of the validation data, or made of the vocabulary."""
    if check is not None:
        lines = [line for line in read_plain(check) if line.strip()][:SENTENCES]
        if not lines:
            raise UsageError(f"{check} has no text: give a file with some sentences.")
        return lines
    if run.has_store("valid"):
        return [pair.source.text for pair in run.validation_pairs(SENTENCES)]
    source = run.tokenizers().source
    random = torch.Generator().manual_seed(1)
    drawn = torch.randint(FIRST, source.size, (SENTENCES, 8), generator=random)
    return [source.decode(row) for row in drawn.tolist()]


@torch.inference_mode()
def compare(run: Run, model: Model, other: Other, lines: Sequence[str]) -> Agreement:
    encoder = LineEncoder(run.tokenizers().source)
    rows = [row.truncated(MAX_PIECES) for row in encoder.encode([Line(each) for each in lines])]
    rows = [row for row in rows if row.ids]
    greedy = Beam(beam=1)
    same, differences = 0, list[Tensor]()
    for row in rows:
        source = Padded.of_rows([row])
        limit = int(greedy.limits(source.lengths)[0])
        ours = list(model.generate(source, greedy)[0][0].tokens)
        same += ours == other.greedy(list(row.ids), limit - 1)
        batch = Batch(source, Padded.of_rows([Row(ours)]))
        found = torch.tensor(other.scores(list(row.ids), ours))
        differences.append((found - _scores(model, batch, other)).abs())
    apart = torch.cat(differences).nan_to_num(math.inf)
    return Agreement(len(rows), same, float(apart.max()), float(apart.mean()))


def _scores(model: Model, batch: Batch, other: Other) -> Tensor:
    choices = model.choices(batch)
    assert choices is not None
    scores = choices[0]  # (T, V)
    if other.renormalised:
        scores[:, list(RESERVED_IDS)] = -torch.inf
        scores = scores.log_softmax(dim=-1)
    return scores.gather(1, batch.target.values[0][:, None])[:, 0]


def check_agreement(found: Agreement, folder: Path, int8: bool = False) -> None:
    """Refuse what differs."""
    exact = found.same == found.sentences and found.worst <= TOLERANCE
    if not (found.mean <= INT8_TOLERANCE if int8 else exact):
        raise RegardError(f"{folder} was written, but does not match the run: {found}.")


class ByCTranslate2(Other):
    name = "CTranslate2"
    renormalised = True

    def __init__(self, folder: Path, source: Sequence[str], target: Sequence[str]) -> None:
        from ctranslate2 import Translator

        self.translator = Translator(str(folder), device="cpu")
        self.source, self.target = source, target
        self.ids = {name: id for id, name in enumerate(target)}

    def greedy(self, source: list[int], limit: int) -> list[int]:
        tokens = [[self.source[id] for id in source]]
        (found,) = self.translator.translate_batch(
            tokens, beam_size=1, max_decoding_length=limit, min_decoding_length=0
        )
        return [self.ids[name] for name in found.hypotheses[0]]

    def scores(self, source: list[int], target: list[int]) -> list[float]:
        tokens = [self.source[id] for id in source]
        (found,) = self.translator.score_batch([tokens], [[self.target[id] for id in target]])
        return list(found.log_probs)


class ByTransformers(Other):
    name = "transformers"

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModelForSeq2SeqLM
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        self.model = AutoModelForSeq2SeqLM.from_pretrained(str(folder)).eval()
        self.model.generation_config.max_length = None  # or a warning comes with each sentence

    def greedy(self, source: list[int], limit: int) -> list[int]:
        given = torch.tensor([[*source, EOS]])
        found = self.model.generate(
            input_ids=given,
            attention_mask=torch.ones_like(given),
            num_beams=1,
            do_sample=False,
            max_new_tokens=limit,
            forced_eos_token_id=None,
        )[0].tolist()[1:]
        return found[: found.index(EOS)] if EOS in found else found

    def scores(self, source: list[int], target: list[int]) -> list[float]:
        labels = torch.tensor([[*target, EOS]])
        begun = torch.tensor([[self.model.config.decoder_start_token_id, *target]])
        logits = self.model(
            input_ids=torch.tensor([[*source, EOS]]), decoder_input_ids=begun
        ).logits
        return logits.log_softmax(-1).gather(2, labels[:, :, None])[0, :, 0].tolist()


class ByOurReader(Other):
    """The folder as `regard import` reads it, where transformers is not installed."""

    name = "regard's own reader, since transformers is not installed"

    def __init__(self, model: Model) -> None:
        self.model = model

    def greedy(self, source: list[int], limit: int) -> list[int]:
        given = Padded.of_rows([Row(source)])
        return list(self.model.generate(given, Beam(beam=1))[0][0].tokens)

    def scores(self, source: list[int], target: list[int]) -> list[float]:
        batch = Batch(Padded.of_rows([Row(source)]), Padded.of_rows([Row(target)]))
        return list(self.model.log_probabilities(batch)[0].tolist())
