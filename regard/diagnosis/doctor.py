"""The doctor: examines training data beside validation and test data, and says what it found."""

from __future__ import annotations

from pathlib import Path
from typing import Optional, Union

from regard.data.corpus import TEXT, Pairs
from regard.data.parallel import Parallel, check_parallel, paths_of
from regard.diagnosis.cleaning import Cleaner
from regard.diagnosis.examine import Examined, examine
from regard.diagnosis.findings import findings_of
from regard.diagnosis.fitting import fitting_recipe, forecast
from regard.diagnosis.held import Held
from regard.diagnosis.report import Finding, Forecast, Report
from regard.errors import UsageError
from regard.recipes import find_recipe
from regard.recipes.config import Config
from regard.terminal import counting


def doctor(
    data: Parallel,
    *,
    valid: Optional[Parallel] = None,
    test: Optional[Parallel] = None,
    recipe: Union[str, Config, None] = None,
    clean: Union[str, Path, None] = None,
    quiet: bool = True,
) -> Report:
    """Look for everything that is wrong with a corpus.

    With a `recipe`, its lines are checked as training would, and memory and time are forecast.
    With `clean`, a copy without the damaged pairs is written to that folder, and a list of those.
    """
    check_parallel(data, valid, test)
    config = None if recipe is None else find_recipe(recipe)
    if config is not None:
        data.check_teaches(config.annotations)
    pairs = _open(data, config, "")
    parts = {"valid": valid, "test": test}
    opened = {name: _open(each, config, f"{name}-") for name, each in parts.items() if each}
    read = [path for each in (pairs, *opened.values()) for path in each.files]
    cleaner = None if clean is None else Cleaner(Path(clean), pairs.portions, read)
    held, errors = [], list[str]()
    for name, each in opened.items():
        try:
            held.append(Held(name, each))
        except UsageError as problem:
            errors.append(str(problem))
    writes = "text" if config is None else config.writes
    sides = (0, 1) if paths_of(data.source) or paths_of(data.pairs) else (1,)
    with counting("examining pairs", shown=not quiet) as count:
        found = examine(pairs, writes, sides if writes == "text" else (0,), held, cleaner, count)
    errors += [] if found.problem is None else [str(found.problem)]
    errors += _swapped(found, held)
    expected: Optional[Forecast] = None
    if config is not None and not errors:
        usable = found.tally.pairs - found.tally.damage["unusable"]
        try:
            expected = forecast(config, found.sample, usable)
        except UsageError as problem:
            errors.append(str(problem))
    return _report(pairs, found, held, errors, expected, cleaner)


def _open(data: Parallel, config: Optional[Config], part: str) -> Pairs:
    """The pairs as training would read them; without a recipe, as those of a translator, or the
    lines of a language model."""
    if config is not None:
        config = config.changed(tokenizer=config.tokenizer.changed(tags=None))
        return config.pairs_of(data, part)
    if paths_of(data.target) and not paths_of(data.source) and not paths_of(data.pairs):
        return data.open_for(False, (), part=part)
    return data.open(part, TEXT)


def _swapped(found: Examined, held: list[Held]) -> list[str]:
    """What training says of validation files that are given the wrong way round."""
    profile = found.examiner.examination().profile
    names = {"valid": "the validation files", "test": "the test files"}
    errors = []
    for each in held:
        try:
            each.examiner.refuse_swapped(profile, names[each.name])
        except UsageError as problem:
            errors.append(str(problem))
    return errors


def _report(
    pairs: Pairs,
    found: Examined,
    held: list[Held],
    errors: list[str],
    expected: Optional[Forecast],
    cleaner: Optional[Cleaner],
) -> Report:
    tally, rules = found.tally, found.rules
    sides = () if rules is None else rules.sides
    compared = tuple(each.comparison(sides) for each in held)
    notes = () if pairs.report is None else pairs.report.notes
    findings = [Finding("error", "reading", each) for each in errors]
    findings += findings_of(found, notes, compared)
    usable = tally.pairs - tally.damage["unusable"]
    wrote = cleaner is not None and found.problem is None
    return Report(
        files=tuple(str(path) for portion in pairs.portions for path in portion.files),
        pairs=tally.pairs,
        damage={name: count for name, count in tally.damage.items() if count},
        damaged=tally.damaged,
        findings=tuple(sorted(findings, key=lambda each: _ORDER.index(each.level))),
        sides=tally.sides(rules),
        ratio=tally.ratio,
        ratios=tally.ratios,
        stretches=found.stretches,
        compared=compared,
        recipe=fitting_recipe(usable, rules),
        settings=() if rules is None else rules.form.settings,
        forecast=expected,
        removed=cleaner.removed if cleaner is not None and wrote else None,
        cleaned=tuple(cleaner.written) if cleaner is not None and wrote else (),
    )


_ORDER = ("error", "warning", "note")
