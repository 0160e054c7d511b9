"""The languages of a run, and which tokenizer its BLEU scores need for them.

They are facts about a run and not settings, so they can be given or changed at any time. What may
not change is how validation scores are computed, since they decide which checkpoint is best: the
tokenizer they use is chosen when training begins, and stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Optional

from regard.data.languages import Languages
from regard.data.parallel import Parallel
from regard.metrics.table import QUICK
from regard.metrics.text import (
    DEFAULT_TOKENIZER,
    TextMetrics,
    Tokenizer,
    installed,
    package,
    tokenizer_for,
)
from regard.runs.folder import Run

FACTS = "languages"
VALIDATION = "validation_tokenizer"
FALLBACK: Tokenizer = "char"
"""Where the package of a language is not installed: training need not wait for it."""


def languages_of(run: Run) -> Languages:
    facts = run.facts(FACTS)
    return Languages(facts.get("source"), facts.get("target"))


def save_languages(run: Run, data: Optional[Parallel], note: Callable[[str], None]) -> None:
    """Keep the languages that were given, and at the start the tokenizer of validation scores."""
    if data is None or data.languages == Languages():
        return
    before = run.facts(FACTS)
    languages = Languages.of(*data.languages).or_else(languages_of(run))
    wanted = tokenizer_for(languages.target)
    used = before.get(VALIDATION)
    if used is None:
        begun = bool(run.checkpoints(note).steps())
        used = DEFAULT_TOKENIZER if begun else wanted if installed(wanted) else FALLBACK
    facts = {"source": languages.source, "target": languages.target, VALIDATION: used}
    if facts == before:
        return
    run.save_facts(FACTS, facts)
    if used != wanted and run.config.metric == "bleu":
        note(_difference(used, wanted))


def _difference(used: Tokenizer, wanted: Tokenizer) -> str:
    sentence = f"BLEU during training uses the tokenizer {used}, and 'regard evaluate' {wanted}"
    if installed(wanted):
        return f"{sentence}: do not compare the two."
    return f"{sentence}, which is not installed: run {package(wanted)}."


def metrics_of(run: Run, metrics: TextMetrics, data: Optional[Parallel] = None) -> TextMetrics:
    """The metrics with the tokenizer that the target language needs, unless one was chosen; only
    translations are judged by BLEU."""
    if not run.config.reads_source or run.config.writes != "text":
        return metrics
    given = Languages(*data.languages) if data is not None else Languages()
    return metrics.for_language(given.or_else(languages_of(run)).target)


def validation_metrics(run: Run) -> TextMetrics:
    """Those of validation scores, without confidence intervals."""
    used = run.facts(FACTS).get(VALIDATION, DEFAULT_TOKENIZER)
    return QUICK.changed(tokenize=used)
