"""Order blindness: what a Transformer knows of word order without positions."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.data.batch import Padded
from regard.drawing.charts import Bars
from regard.models.base import EncoderDecoder
from regard.models.transformer import TransformerConfig
from regard.nn.position import PositionKind
from regard.studies.base import Finding, Number, Study, above, below, mean
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

POSITIONS: tuple[PositionKind, ...] = ("none", "sinusoidal", "learned", "rotary", "shaw", "alibi")
VOCABULARY = 50
DRAWS = 10
"""Random models per kind of position."""


def blindness(position: PositionKind, seed: int, length: int = 12) -> float:
    """How much the encoding of each token changes when the tokens are put in another order.

    The largest change, relative to the size of the encoding; 0 if the order is not seen.
    """
    torch.manual_seed(seed)
    config = TransformerConfig(
        layers=2, width=32, inner=64, heads=4, dropout=0, position=position, tying="none"
    )
    model: EncoderDecoder = config.build(VOCABULARY, VOCABULARY).eval()
    tokens = torch.randint(4, VOCABULARY, (length,))
    order = torch.randperm(length)
    before, after = (_encode(model, each) for each in (tokens, tokens[order]))
    return float((before[order] - after).abs().max() / before.abs().mean())


@torch.inference_mode()
def _encode(model: EncoderDecoder, tokens: Tensor) -> Tensor:
    encoded: Tensor = model.encoder(Padded.of([tokens.tolist()])).output[0]
    return encoded


def measure(laboratory: Laboratory) -> Finding:
    found = {kind: [blindness(kind, seed) for seed in range(DRAWS)] for kind in POSITIONS}
    changes = {kind: mean(each) for kind, each in found.items()}
    task = GrammarTask(laboratory)
    scores = {
        kind: mean(task.losses([f"model.position={kind}"]), "nats per token")
        for kind in ("none", "sinusoidal")
    }
    seen = Number(min(min(each) for kind, each in found.items() if kind != "none"))
    return Finding(
        f"Without positions, another order of the words changes their encodings by "
        f"{changes['none'].value:.0e}; the loss per token is {scores['none'].value:.2f} nats, and "
        f"{scores['sinusoidal'].value:.2f} with sinusoidal positions.",
        {
            **{f"change, {kind}": number for kind, number in changes.items()},
            **{f"validation loss, {kind}": number for kind, number in scores.items()},
        },
        (
            below("without positions the order is not seen", changes["none"], 1e-4),
            above("every kind of position shows it", seen, 1e-2),
            above("translation suffers", scores["none"], scores["sinusoidal"]),
        ),
        (
            Bars(
                "Change of the encodings when the words are reordered",
                "relative to their size",
                {kind: (number.value, number.margin or 0) for kind, number in changes.items()},
            ),
        ),
    )


STUDY = Study(
    title="Without positions, order is not seen",
    claim="Attention is a weighted mean over a set, so without positions a Transformer's encoder "
    "gives the same vectors whatever the order of the words.",
    formula="for any permutation P: Attention(PQ, PK, PV) = P Attention(Q, K, V)",
    method="Random encoders with each kind of position read 12 tokens, and the same tokens in "
    "another order; the encodings of the same token are compared. Then small models learn the "
    "grammar corpus with sinusoidal positions and without any.",
    change="regard ladder none=tiny:model.position=none tiny ... compares them on your own data; "
    "blindness(position, seed) measures one kind.",
    meaning="If a model treats its source as a bag of words, check model.position first. A causal "
    "decoder is an exception: its mask tells each position how many came before it.",
    measure=measure,
)
