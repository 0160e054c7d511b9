"""The variants of a ladder: recipes, each under a name and with settings of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.config import override
from regard.errors import UsageError
from regard.recipes import RECIPES, find_recipe
from regard.recipes.config import Config

DEFAULT_RECIPES = (
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
"""The folder beside those of the variants, so no variant can have its name."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NEXT_SETTING = re.compile(r",(?=[\w.]+=)")  # a comma inside a list is none of these


@dataclass(frozen=True)
class Variant:
    """A recipe with some settings changed; its name is that of its run."""

    name: str
    recipe: str
    settings: tuple[str, ...] = ()

    @staticmethod
    def read(text: str) -> Variant:
        """`RECIPE`, or `NAME=RECIPE:path=value,path=value` for a variant."""
        head, _, changes = text.partition(":")
        name, named, recipe = head.partition("=")
        if changes and not named:
            raise UsageError(f"Give '{text}' a name of its own, as in NAME={text}.")
        if not _NAME.fullmatch(name) or name == ROWS:
            raise UsageError(
                f"'{name}' cannot be the name of a variant: use up to 64 letters, digits, - and _, "
                f"but not '{ROWS}'; write RECIPE or NAME=RECIPE:path=value,path=value."
            )
        settings = tuple(_NEXT_SETTING.split(changes)) if changes else ()
        return Variant(name, recipe if named else name, settings)

    def config(self, settings: Sequence[str]) -> Config:
        """The complete config: `settings` apply to all variants, its own come after them."""
        try:
            return override(find_recipe(self.recipe), [*settings, *self.settings])
        except UsageError as problem:
            raise UsageError(f"Variant {self.name}: {problem}") from None


def read_variants(texts: Sequence[str]) -> tuple[Variant, ...]:
    """The variants asked for, or the recipes of the story."""
    variants = tuple(
        Variant.read(text) for text in texts or [n for n in DEFAULT_RECIPES if n in RECIPES]
    )
    names = [variant.name.lower() for variant in variants]  # some file systems know one case only
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"Two variants are called '{name}': write one of them as OTHER=RECIPE."
            )
    return variants
