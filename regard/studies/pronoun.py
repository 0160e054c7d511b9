"""The "it" example: which noun a pronoun refers to, and where attention looks, across training."""

from __future__ import annotations

import random
from collections.abc import Sequence

from regard.corpora import grammar
from regard.drawing.charts import Lines
from regard.predict import Predictor
from regard.studies.base import Finding, Study, above, difference, mean
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory
from regard.studies.pronouns import resolving_heads

STEPS = (100, 200, 400, 800)
CHANCE = 100 / 3
"""er, sie and es are equally frequent."""


def accuracy(predictor: Predictor, riddles: Sequence[grammar.Example]) -> float:
    """The percentage of riddles that are translated with the right pronoun."""
    outputs = predictor([riddle.source for riddle in riddles])
    right = sum(map(grammar.right_pronoun, riddles, outputs))
    return 100 * right / len(riddles)


def looks(predictor: Predictor, riddles: Sequence[grammar.Example]) -> float:
    """How often the best head gives the antecedent more weight than the other noun, in per cent.

    The head is chosen on half of the riddles and measured on the rest. The halves are drawn at
    random: riddles whose antecedent is the subject alternate with others, so that a head that
    always prefers subjects would look good in one half and bad in the other.
    """
    drawn = random.Random("halves").sample(riddles, len(riddles))
    best = resolving_heads(predictor, drawn[::2])[0]
    rest = resolving_heads(predictor, drawn[1::2])
    own = [(each.kind, each.layer, each.head) for each in rest]
    return 100 * rest[own.index((best.kind, best.layer, best.head))].accuracy


def measure(laboratory: Laboratory) -> Finding:
    right: dict[int, list[float]] = {}
    looked: dict[int, list[float]] = {}
    for steps in laboratory.effort(STEPS, (4, 8)):
        task = GrammarTask(laboratory)
        task.steps = steps
        examples = grammar.generate(0).test[: laboratory.effort(1000, 40)]
        riddles = [example for example in examples if example.pronoun is not None]
        predictors = [laboratory.predictor(run) for run in task.runs()]
        right[steps] = [accuracy(each, riddles) for each in predictors]
        looked[steps] = [looks(each, riddles) for each in predictors]
    first, last = min(right), max(right)
    numbers = {
        **{f"right pronoun, {steps} steps": mean(each, "%") for steps, each in right.items()},
        **{
            f"best head on the noun, {steps} steps": mean(each, "%")
            for steps, each in looked.items()
        },
    }
    return Finding(
        f"After {last} steps {mean(right[last]).value:.0f} % of the pronouns are right (chance: "
        f"{CHANCE:.0f} %), and the best head prefers the right noun in "
        f"{mean(looked[last]).value:.0f} % of the sentences (chance: 50 %).",
        numbers,
        (
            above("the pronoun is resolved", mean(right[last], "%"), 90.0),
            above("that is learned", difference(right[last], right[first], "%"), 20.0),
            above("a head looks at what it refers to", mean(looked[last], "%"), 75.0),
            above("that is learned too", difference(looked[last], looked[first], "%"), 10.0),
        ),
        (
            Lines(
                "Resolving a pronoun across training",
                "steps",
                "per cent",
                {
                    name: [(float(steps), mean(each).value) for steps, each in values.items()]
                    for name, values in (("right pronoun", right), ("best head", looked))
                },
                log_x=True,
                level=CHANCE,
            ),
        ),
    )


STUDY = Study(
    title="What does it refer to?",
    claim='In "The animal didn\'t cross the street because it was too tired", self-attention '
    "lets the model associate it with the animal: attention from the pronoun looks at the noun.",
    formula="accuracy = riddles whose German pronoun (er, sie, es) is right; a head resolves a "
    "riddle if a(it, antecedent) > a(it, distractor)",
    method="More than a quarter of the grammar corpus are such riddles; German has to choose a "
    "pronoun by the gender of the noun. Pairs of noun and adjective in the test do not occur in "
    "training. Models are trained for 100 to 800 steps. The best head is chosen on a "
    "random half of the test riddles and measured on the other half.",
    change="regard.studies.pronouns.resolving_heads(predictor, examples) ranks all heads of your "
    "own run; STEPS are the budgets.",
    meaning="A model can be right about the pronoun before, or without, one head that shows it: "
    "information also moves through other words and layers. Read attention maps as a hint, and "
    "measure the accuracy.",
    measure=measure,
)
