"""How many recurrent layers: one to four on each side."""

from __future__ import annotations

from regard.studies.ablation import Ablation
from regard.studies.base import Finding, Study
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

DEPTHS = (1, 2, 3, 4)


def measure(laboratory: Laboratory) -> Finding:
    task = GrammarTask(laboratory, steps=500)
    values = {
        f"{depth} layers": task.losses(
            [f"model.layers={depth}", f"model.residual={'true' if depth > 1 else 'false'}"],
            "lstm_attention",
        )
        for depth in DEPTHS
    }
    found = Ablation("validation loss", "nats per token", values)
    best = min(values, key=lambda name: found[name].value)
    return Finding(
        f"The loss is lowest with {best}: {found[best].value:.3f} nats per token against "
        f"{found['1 layers'].value:.3f} with one.",
        found.numbers,
        (
            found.lower("two layers are better than one", "2 layers", "1 layers"),
            found.lower("four are better than two", "4 layers", "2 layers"),
        ),
        (found.chart("Validation loss by number of LSTM layers, encoder and decoder"),),
    )


STUDY = Study(
    title="How many recurrent layers",
    claim="Stacked recurrent layers compute more complex representations: two to four layers are "
    "best for the encoder and four for the decoder.",
    formula="h_t^(l) = LSTM(h_(t-1)^(l), h_t^(l-1))",
    method="LSTM encoder-decoders with attention, width 64, learn the grammar corpus with one to "
    "four layers on each side, with residual connections from the second on.",
    change="--set model.layers=2 --set model.decoder_layers=4 chooses the sides separately.",
    meaning="On small corpora one or two layers do; the numbers that are quoted come from millions "
    "of pairs, and every layer costs its share of time.",
    measure=measure,
)
