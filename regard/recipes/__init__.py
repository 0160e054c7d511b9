"""Recipes: named functions, each returning a complete Config. A file lists its own at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Union

from regard.errors import UsageError
from regard.messages import unknown
from regard.recipes import (
    algorithms,
    labelling,
    languages,
    parsing,
    pictures,
    points,
    tasks,
    translation,
)
from regard.recipes.config import Config

RECIPES: dict[str, Callable[[], Config]] = {
    recipe.__name__: recipe
    for part in (translation, languages, labelling, algorithms, parsing, pictures, tasks, points)
    for recipe in part.RECIPES
}


def find_recipe(name: Union[str, Config]) -> Config:
    """The config of a recipe; a complete config is its own."""
    if isinstance(name, Config):
        return name
    if name not in RECIPES:
        raise UsageError(unknown("recipe", name, RECIPES))
    return RECIPES[name]()
