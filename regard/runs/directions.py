"""The directions of a run that translates between several languages, and the tags that ask for
one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from regard.data.languages import Languages
from regard.data.tags import language_tags
from regard.errors import UsageError
from regard.runs.folder import Run

FACTS = "directions"

Say = Callable[[str], None]


def save_directions(run: Run, directions: Iterable[Languages]) -> None:
    """Keep the directions of the training data, if they are told apart by tags."""
    if run.config.tokenizer.tags is not None:
        run.save_facts(FACTS, {FACTS: [list(each) for each in directions]})


def directions_of(run: Run) -> list[Languages]:
    """The directions it was trained on; none for a run of one direction."""
    return [Languages(*each) for each in run.facts(FACTS).get(FACTS, [])]


def are_mixed(directions: Sequence[Languages]) -> bool:
    """Whether some language is read and written too: words then do not tell the sides apart."""
    sources = {each.source for each in directions if each.source is not None}
    return not sources.isdisjoint(each.target for each in directions)


def tags_for(run: Run, asked: Languages, say: Say = print) -> str:
    """The tags that ask a run for a direction; nothing for a run that has only one."""
    kind, known = run.config.tokenizer.tags, directions_of(run)
    if kind is None:
        if any(asked):
            raise UsageError(
                f"{run.path} was trained without columns of languages, so it has one direction: "
                "remove --to and --from-language."
            )
        return ""
    asked = Languages.of(*asked)
    targets = sorted({each.target for each in known if each.target})
    sources = sorted({each.source for each in known if each.source})
    if asked.target is None:
        raise UsageError(
            f"{run.path} translates into several languages: choose one of {', '.join(targets)} "
            "with --to."
        )
    if asked.source is None and kind == "both":
        raise UsageError(
            f"{run.path} reads the language of its source too: choose one of "
            f"{', '.join(sources)} with --from-language."
        )
    _check_known(run, asked.target, targets, "into")
    if asked.source is not None:
        _check_known(run, asked.source, sources, "from")
        if asked not in known:
            say(
                f"{run.path} was not trained to translate {asked.source} into {asked.target}: "
                "expect worse translations than of its own directions."
            )
    return language_tags(kind, asked)


def _check_known(run: Run, language: str, known: list[str], way: str) -> None:
    if language not in known:
        raise UsageError(
            f"{run.path} does not translate {way} '{language}': choose one of {', '.join(known)}."
        )
