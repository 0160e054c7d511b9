"""Why several layers of attention: what each layer adds."""

from __future__ import annotations

from itertools import pairwise

from regard.drawing.charts import Lines
from regard.studies.ablation import ablate
from regard.studies.base import Finding, Study
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

DEPTHS = (1, 2, 3, 4, 6)


def measure(laboratory: Laboratory) -> Finding:
    variants = {f"{depth}": [f"model.layers={depth}"] for depth in DEPTHS}
    found = ablate("validation loss", "nats per token", variants, GrammarTask(laboratory).losses)
    first, deepest = str(DEPTHS[0]), str(DEPTHS[-1])
    gains = [found.change(str(a), str(b)) for a, b in pairwise(DEPTHS)]
    line = [(float(depth), found[str(depth)].value) for depth in DEPTHS]
    return Finding(
        f"One layer on each side reaches {found[first].value:.3f} nats per token, the second gains "
        f"{gains[0].value:.3f}, and {deepest} layers reach {found[deepest].value:.3f}.",
        {
            **{f"validation loss, {depth} layers": found[str(depth)] for depth in DEPTHS},
            "gain of the second layer": gains[0],
            "gain from four to six": gains[-1],
        },
        (
            found.lower("several layers are better than one", "2", "1"),
            found.lower("six are better than two", "6", "2"),
        ),
        (
            Lines(
                "Validation loss by depth",
                "layers on each side",
                "nats per token",
                {"loss": line},
            ),
        ),
    )


STUDY = Study(
    title="Why several layers of attention",
    claim="One layer relates words directly; what depends on relations between relations, such as "
    "what a pronoun refers to, needs attention over the results of attention.",
    formula="x^(l+1) = FFN(Attention(x^(l)))",
    method="Small Transformers of one to six layers on each side learn the grammar corpus, in "
    "which more than a quarter of the sentences have a pronoun to resolve.",
    change="--set model.layers=6 --set model.decoder_layers=1: a deep encoder with a shallow "
    "decoder is nearly as good and faster to translate with.",
    meaning="Two to four layers are enough for tens of thousands of pairs; more pay with more "
    "data.",
    measure=measure,
)
