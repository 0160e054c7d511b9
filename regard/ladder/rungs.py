"""The rungs of a ladder: recipes, each under a name and with settings of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.config import override
from regard.problem import Misuse
from regard.recipes import RECIPES, Config, find_recipe

STORY = (
    "rnn_plain",
    "rnn_attention",
    "rnn_luong",
    "gru_attention",
    "lstm_attention",
    "conv",
    "bytenet",
    "tiny",
)
"""From one fixed vector to the Transformer."""

ROWS = "rows"
"""The folder beside those of the rungs, so no rung can have its name."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NEXT_SETTING = re.compile(r",(?=[\w.]+=)")  # a comma inside a list is none of these


@dataclass(frozen=True)
class Rung:
    """A recipe with some settings changed; its name is that of its run."""

    name: str
    recipe: str
    settings: tuple[str, ...] = ()

    @staticmethod
    def read(text: str) -> Rung:
        """`RECIPE`, or `NAME=RECIPE:path=value,path=value` for a variant."""
        head, _, changes = text.partition(":")
        name, named, recipe = head.partition("=")
        if changes and not named:
            raise Misuse(f"Give '{text}' a name of its own, as in NAME={text}.")
        if not _NAME.fullmatch(name) or name == ROWS:
            raise Misuse(
                f"'{name}' cannot be the name of a rung: use up to 64 letters, digits, - and _, "
                f"and not '{ROWS}'; a rung is written RECIPE or NAME=RECIPE:path=value,path=value."
            )
        settings = tuple(_NEXT_SETTING.split(changes)) if changes else ()
        return Rung(name, recipe if named else name, settings)

    def config(self, settings: Sequence[str]) -> Config:
        """The complete config; `settings` are those of all rungs, and its own come after them."""
        try:
            return override(find_recipe(self.recipe), [*settings, *self.settings])
        except Misuse as problem:
            raise Misuse(f"Rung {self.name}: {problem}") from None


def read_rungs(texts: Sequence[str]) -> tuple[Rung, ...]:
    """The rungs asked for, or the recipes of the story."""
    rungs = tuple(Rung.read(text) for text in texts or [n for n in STORY if n in RECIPES])
    names = [rung.name.lower() for rung in rungs]  # some file systems know one case only
    for name in names:
        if names.count(name) > 1:
            raise Misuse(f"Two rungs are called '{name}': write one of them as OTHER=RECIPE.")
    return rungs
