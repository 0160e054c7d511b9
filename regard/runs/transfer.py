"""What a run that started from another has gained on its own data and lost on the other's: scores
on the validation data of both, before and after training."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from typing import Any, Optional

from regard.models.base import Model
from regard.processes.memory import bounded_memory
from regard.processes.ranks import Ranks
from regard.runs.folder import OLD, VALID, Run
from regard.runs.load import build_model, load_model
from regard.runs.plan import device_of
from regard.runs.validate import Validator
from regard.training.display import Display
from regard.training.trainer import Pieces, Validation

FACTS = "transfer"
BEFORE, AFTER = "before", "after"
PARTS = {"old": OLD, "new": VALID}


def copy_validation(run: Run, other: Run) -> None:
    """Keep the other run's validation data, if it has any that this run's model can read."""
    target = run.store_folder(OLD)
    shutil.rmtree(target, ignore_errors=True)
    if other.has_store(VALID) and other.config.annotations == run.config.annotations:
        shutil.copytree(other.store_folder(VALID), target)


def score_before(run: Run, ranks: Ranks, display: Display) -> None:
    """Score the weights that a run starts with, unless that is done or they are not a whole
    model."""
    if _is_due(run, ranks, BEFORE, 0):
        with display.waiting("scoring the old and the new validation data"):
            _record(run, ranks, BEFORE, 0, _scores(run, build_model(run), ranks, display))


def score_after(run: Run, ranks: Ranks, display: Display) -> None:
    """Score the best weights of a finished run, and show them next to the scores before
    training."""
    best = run.checkpoints(display.note).best()
    step = best.step if best else 0
    if not _is_due(run, ranks, AFTER, step):
        return
    model, _ = load_model(run, display.note)
    with display.waiting("scoring the old and the new validation data"):
        _record(run, ranks, AFTER, step, _scores(run, model, ranks, display))
    if ranks.first:
        display.note(table(run.facts(FACTS)))


def _is_due(run: Run, ranks: Ranks, when: str, step: int) -> bool:
    """The first process looks, since it is the one that writes. A model that has to be sharded is
    not loaded as a whole for it."""
    if run.config.training.shard:
        return False
    start = run.facts("data").get("start")
    known = run.facts(FACTS).get(when, {}).get("step")
    (due,) = ranks.broadcast([float(bool(start and start.get("whole")) and known != step)])
    return due > 0


def _record(run: Run, ranks: Ranks, when: str, step: int, scores: Mapping[str, Any]) -> None:
    if ranks.first:
        facts = {"metric": run.config.metric, **run.facts(FACTS), when: {"step": step, **scores}}
        run.save_facts(FACTS, facts)
    ranks.barrier()


def _scores(
    run: Run, model: Model, ranks: Ranks, display: Display
) -> dict[str, Optional[dict[str, float]]]:
    """Of each part, as validation scores them; None where there is no data."""
    found: dict[str, Optional[dict[str, float]]] = {}
    model = model.to(device_of(run))
    with bounded_memory(ranks.local_size, model.device):
        for name, part in PARTS.items():
            if not run.has_store(part):
                found[name] = None
                continue
            validate = Validator(run, run.tokenizers(), display, ranks, part)
            found[name] = dict(_finish(validate(model.eval(), 0, None)).scores)
    return found


def _finish(pieces: Pieces) -> Validation:
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            found: Validation = end.value
            return found


def table(facts: Mapping[str, Any]) -> str:
    """Two rows and two columns, with the metric above them."""
    cell = _cell(facts)
    rows = [f"{facts.get('metric')!s:8}{'old data':>12}{'new data':>12}"]
    for when in (BEFORE, AFTER):
        rows.append(f"{when:8}{cell(when, 'old'):>12}{cell(when, 'new'):>12}")
    return "\n".join(rows)


def summary(facts: Mapping[str, Any]) -> dict[str, str]:
    """The scores on the old and the new validation data, for `regard info`."""
    cell, metric = _cell(facts), facts.get("metric")
    return {
        f"{name} data": f"{metric} {cell(BEFORE, name)} before, {cell(AFTER, name)} after"
        for name in PARTS
    }


def _cell(facts: Mapping[str, Any]) -> Callable[[str, str], str]:
    def cell(when: str, name: str) -> str:
        scores = facts.get(when, {}).get(name)
        return "–" if not scores else f"{scores[facts['metric']]:.2f}"

    return cell
