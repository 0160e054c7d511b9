"""The noisy channel: argmax P(y | x) against argmax P(x | y) P(y)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.parallel import Parallel
from regard.drawing.charts import Bars
from regard.predict import Predictor
from regard.runs.load import load_predictor
from regard.studies.base import Finding, Study, above, difference, mean
from regard.studies.grammar_task import SETTINGS, TRANSFORMER, GrammarTask
from regard.studies.laboratory import Laboratory

BEAM = 8


@dataclass(frozen=True)
class Candidates:
    """Translations of one source, with the logarithms of P(y | x), P(x | y) and P(y)."""

    texts: tuple[str, ...]
    direct: tuple[float, ...]
    channel: tuple[float, ...]
    language: tuple[float, ...]

    def best(self, direct: float, channel: float, language: float) -> str:
        """The text with the highest weighted sum; the first of equals."""
        totals = [
            direct * a + channel * b + language * c
            for a, b, c in zip(self.direct, self.channel, self.language, strict=True)
        ]
        return self.texts[max(range(len(totals)), key=lambda index: totals[index])]

    @property
    def agreement(self) -> float:
        """Correlation of log P(y | x) with log P(x | y) + log P(y); their difference, log P(x), is
        the same for all if all three are right."""
        both = np.add(self.channel, self.language)
        if len(self.texts) < 3 or np.std(both) == 0 or np.std(self.direct) == 0:
            return 1.0
        return float(np.corrcoef(self.direct, both)[0, 1])


WEIGHTS = {
    "P(y | x)": (1.0, 0.0, 0.0),
    "P(x | y) P(y)": (0.0, 1.0, 1.0),
    "P(x | y) alone": (0.0, 1.0, 0.0),
    "P(y) alone": (0.0, 0.0, 1.0),
    "all three": (1.0, 1.0, 1.0),
}


def candidates(
    sources: Sequence[str], direct: Predictor, channel: Predictor, language: Predictor
) -> list[Candidates]:
    """The beam of each source, scored by the other two models."""
    found = []
    for source, prediction in zip(sources, direct.predict(sources), strict=True):
        texts = tuple(each.text for each in prediction.best)
        own = tuple(each.log_probability for each in prediction.best)
        back = tuple(total for total, _ in channel.score((text, source) for text in texts))
        fluent = tuple(total for total, _ in language.score(("", text) for text in texts))
        found.append(Candidates(texts, own, back, fluent))
    return found


def _predictors(
    task: GrammarTask, laboratory: Laboratory, seed_index: int
) -> tuple[Predictor, Predictor, Predictor]:
    train, valid, seed = task.data("train"), task.data("valid"), laboratory.seeds[seed_index]
    settings = [*SETTINGS, *TRANSFORMER]
    backwards = laboratory.trained(
        "tiny",
        Parallel(train.target, train.source),
        Parallel(valid.target, valid.source),
        task.steps,
        seed,
        settings,
    )
    alone = [each for each in settings if "smoothing" not in each and "tying" not in each]
    alone = [each.replace("joint=false", "joint=true") for each in alone]
    language = laboratory.trained(
        "language",
        Parallel(target=train.target),
        Parallel(target=valid.target),
        task.steps,
        seed,
        alone,
    )
    direct = task.runs()[seed_index]
    search = direct.config.search.changed(beam=BEAM, best=BEAM)
    return (
        load_predictor(direct, search, say=laboratory.say),
        laboratory.predictor(backwards),
        laboratory.predictor(language),
    )


def measure(laboratory: Laboratory) -> Finding:
    task = GrammarTask(laboratory)
    right: dict[str, list[float]] = {name: [] for name in WEIGHTS}
    agreements: list[float] = []
    for index in range(len(laboratory.seeds)):
        given = task.test[: laboratory.effort(300, 10)]
        found = candidates([each.source for each in given], *_predictors(task, laboratory, index))
        agreements.append(float(np.mean([each.agreement for each in found])))
        for name, weights in WEIGHTS.items():
            exact = sum(a.best(*weights) == b.target for a, b in zip(found, given, strict=True))
            right[name].append(100 * exact / len(given))
    noisy, direct = right["P(x | y) P(y)"], right["P(y | x)"]
    numbers = {name: mean(each, "%") for name, each in right.items()}
    return Finding(
        f"P(x | y) P(y) chooses the right translation in {mean(noisy).value:.0f} % of the lines, "
        f"P(y | x) in {mean(direct).value:.0f} %.",
        {
            **{f"exact, {name}": each for name, each in numbers.items()},
            "correlation of the two": mean(agreements),
        },
        (
            above("both sides rank candidates the same way", mean(agreements), 0.5),
            above("the product is as good as P(y | x)", difference(noisy, direct, "%"), -5.0),
            above("P(x | y) needs P(y)", difference(noisy, right["P(x | y) alone"], "%"), 0.0),
            above("P(y) needs P(x | y)", difference(noisy, right["P(y) alone"], "%"), 0.0),
            above(
                "all three are better than P(y | x)",
                difference(right["all three"], direct, "%"),
                0.0,
            ),
        ),
        (
            Bars(
                "Exact translations, chosen among the candidates of a beam",
                "per cent",
                {name: (each.value, each.margin or 0) for name, each in numbers.items()},
            ),
        ),
    )


STUDY = Study(
    title="The noisy channel",
    claim="By Bayes' rule the best translation is argmax P(x | y) P(y): a translation model that "
    "runs backwards and a language model can be learned apart and multiplied.",
    formula="argmax_y P(y | x) = argmax_y P(x | y) P(y), since P(y | x) = P(x | y) P(y) / P(x)",
    method="A model that translates, one that translates back, and a language model of the target "
    "learn the grammar corpus for 800 steps each. The candidates of a beam of 8 are ranked by P(y "
    "| x), by P(x | y) P(y), by each factor alone and by all three, and compared with the "
    "reference. The rule is exact for probabilities and approximate for three models; the "
    "correlation of the two sides over candidates says how nearly it holds.",
    change="regard judge RUN --judge channel=RUN2 --judge language=RUN3 finds the best weights on "
    "your own runs; here all weights are 0 or 1.",
    meaning="A reverse model and a language model are cheap judges of an n-best list, and the "
    "language model can learn from text without translations. Neither replaces the direct model, "
    "which also makes the candidates.",
    measure=measure,
)
