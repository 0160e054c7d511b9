"""How many recurrent layers: one to four on each side."""

from __future__ import annotations

from regard.messages import counted
from regard.studies.ablation import Ablation
from regard.studies.base import Finding, Study
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

DEPTHS = (1, 2, 3, 4)


def measure(laboratory: Laboratory) -> Finding:
    task = GrammarTask(laboratory, steps=400)
    values = {
        counted(depth, "layer"): task.losses(
            [
                *("model.attention=after", "model.score=dot", f"model.layers={depth}"),
                f"model.residual={'true' if depth > 1 else 'false'}",
            ],
            "lstm_attention",
        )
        for depth in DEPTHS
    }
    found = Ablation("validation loss", "nats per token", values)
    *losses, last = (f"{found[name].value:.3f}" for name in values)
    return Finding(
        f"With one to four layers on each side, the loss is {', '.join(losses)} and {last} nats "
        "per token.",
        found.numbers,
        (
            found.lower("two layers are better than one", "2 layers", "1 layer"),
            found.lower("four are better than two", "4 layers", "2 layers"),
        ),
        (found.chart("Validation loss by number of LSTM layers, encoder and decoder"),),
    )


STUDY = Study(
    title="How many recurrent layers",
    claim="Stacked recurrent layers compute more complex representations: two to four layers are "
    "best for the encoder and four for the decoder.",
    formula="h_t^(l) = LSTM(h_(t-1)^(l), h_t^(l-1))",
    method="LSTM encoder-decoders with dot-product attention, width 64, learn the grammar corpus "
    "for 400 steps with one to four layers on each side, with residual connections from the "
    "second on.",
    change="--set model.layers=2 --set model.decoder_layers=4 chooses the sides separately.",
    meaning="Start with one or two layers and measure: the numbers that are quoted come from "
    "millions of pairs, and every layer costs its share of time.",
    measure=measure,
)
