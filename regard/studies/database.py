"""Attention as a database: queries, keys and values as a look-up that softens with temperature."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.drawing.charts import Lines
from regard.nn.attention import attend
from regard.studies.base import Finding, Study, above, below, mean
from regard.studies.laboratory import Laboratory

RECORDS, WIDTH = 32, 16
TEMPERATURES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def look_up(temperature: float, seed: int, noise: float = 0.1) -> tuple[float, float]:
    """Ask for every record by its key with some noise, through the attention of our models.

    Returns how often the value that comes back is nearest to the right one, and its distance from
    it relative to the distance between two values.
    """
    torch.manual_seed(seed)
    keys = torch.nn.functional.normalize(torch.randn(RECORDS, WIDTH), dim=-1)
    values = torch.randn(RECORDS, WIDTH)
    queries = keys + noise * torch.randn(RECORDS, WIDTH) / WIDTH**0.5
    query, key, value = (_one_head(each) for each in (queries / temperature, keys, values))
    found = attend(query, key, value, None, False)[0][0, 0]  # (RECORDS, WIDTH)
    distance = torch.cdist(found, values)
    nearest = (distance.argmin(dim=1) == torch.arange(RECORDS)).float().mean()
    spread = torch.cdist(values, values).sum() / (RECORDS * (RECORDS - 1))
    return float(nearest), float(distance.diagonal().mean() / spread)


def _one_head(x: Tensor) -> Tensor:
    return x[None, None]


def measure(laboratory: Laboratory) -> Finding:
    found = {
        temperature: [look_up(temperature, seed) for seed in laboratory.seeds]
        for temperature in TEMPERATURES
    }
    right = {t: mean([100 * hit for hit, _ in each], "%") for t, each in found.items()}
    error = {t: mean([away for _, away in each]) for t, each in found.items()}
    cold, hot = TEMPERATURES[0], TEMPERATURES[-1]
    return Finding(
        f"At temperature {cold:g} attention returns the record that was asked for with an error of "
        f"{error[cold].value:.1g}; at {hot:g} it returns the mean of all.",
        {
            **{f"right record, temperature {t:g}": right[t] for t in TEMPERATURES},
            **{f"error of the value, temperature {t:g}": error[t] for t in (cold, 1.0, hot)},
        },
        (
            above("cold attention finds the record", right[cold], 99.0),
            below("and returns its value unchanged", error[cold], 0.01),
            above("hot attention returns a mixture", error[hot], 0.5),
            below("which no longer identifies the record", right[hot], right[cold]),
        ),
        (
            Lines(
                "Error of the returned value",
                "temperature",
                "relative to the distance of two values",
                {"error": [(t, error[t].value) for t in TEMPERATURES]},
                log_x=True,
            ),
        ),
    )


STUDY = Study(
    title="Attention as a database",
    claim="Attention is a soft look-up: a query is compared with all keys, and the values of those "
    "that match are returned; in the limit of low temperature it is the look-up of a database.",
    formula="sum over i of softmax(q · k_i / temperature)_i v_i  ->  v_argmax as temperature -> 0",
    method=f"{RECORDS} records with random keys and values are asked for by their keys with some "
    "noise, through the same attention function that the models use, at temperatures from 0.01 to "
    "10: how often the returned value is nearest to the right one, and how far from it.",
    change="look_up(temperature, seed, noise) asks once; more noise than the distance of two keys "
    "makes even the coldest look-up return wrong records.",
    meaning="A head can be as sharp as a table or as broad as a mean, and learns which by the size "
    "of its queries and keys. Read its entropy on the page of regard look before you explain what "
    "it does.",
    measure=measure,
)
