"""Every setting with its type, range, default and meaning, read from the config classes: what
`regard settings` prints and docs/settings.md shows."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from types import NoneType
from typing import Annotated, Any, Literal, Optional, get_args, get_origin

from pydantic.fields import FieldInfo

from regard.config import Settings
from regard.errors import UsageError
from regard.recipes import find_recipe
from regard.recipes.config import Config

WIDTH = 80
"""Columns of a terminal that the text must fit."""

NAMES = {int: "integer", float: "number", bool: "true or false", str: "text", NoneType: "null"}
SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}

INTRODUCTION = """# Settings

Generated from the code by `make settings`. Defaults are those of the config classes; a recipe
changes some of them, and `regard settings RECIPE` shows its values
([verbs/settings.md](verbs/settings.md)). Change any with `--set PATH=VALUE`, for example
`--set model.layers=6` or `--set 'model.mixers=["window","full"]'`.
"""


@dataclass(frozen=True)
class Setting:
    """One value that `--set` can change."""

    path: str
    type: str
    default: str
    meaning: str

    def mentions(self, word: str) -> bool:
        return word.lower() in f"{self.path} {self.meaning}".lower()


@dataclass(frozen=True)
class Group:
    """The settings of one class, under the path they have in common."""

    title: str
    meaning: str
    settings: tuple[Setting, ...]


def describe_settings(recipe: Optional[str] = None, search: Optional[str] = None) -> list[Group]:
    """All settings, or those of a recipe with its values; only those that mention a word."""
    config = Config() if recipe is None else find_recipe(recipe)
    groups = list(dict.fromkeys(_groups("", config, "", "", every_kind=recipe is None)))
    if search is None:
        return groups
    found = [
        replace(group, settings=tuple(each for each in group.settings if each.mentions(search)))
        for group in groups
    ]
    if not any(group.settings for group in found):
        raise UsageError(f"No setting mentions '{search}': 'regard settings' lists all of them.")
    return [group for group in found if group.settings]


def as_text(groups: Iterable[Group]) -> str:
    """For a terminal: two or three lines per setting."""
    lines: list[str] = []
    for group in groups:
        lines += ["", *_wrapped(f"{group.title}: {group.meaning}", "", ""), ""]
        for each in group.settings:
            lines += _wrapped(f"{each.path} = {each.default}   ({each.type})", "  ", "      ")
            lines += _wrapped(each.meaning, "      ", "      ")
    return "\n".join(lines[1:])


def as_markdown(groups: Iterable[Group]) -> str:
    """One table per group."""
    lines = [INTRODUCTION]
    for group in groups:
        lines += [f"## {group.title}", "", group.meaning, ""]
        lines += ["| setting | type | default | meaning |", "|---|---|---|---|"]
        lines += [
            f"| `{each.path}` | {each.type} | `{_cell(each.default)}` | {each.meaning} |"
            for each in group.settings
        ]
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Text in a table, whose cells end at a bar, even in a code span."""
    return text.replace("|", r"\|")


def _groups(
    path: str, chosen: Settings, title: str, meaning: str, every_kind: bool
) -> Iterator[Group]:
    """The settings of one class, then those of the classes within it."""
    own: list[Setting] = []
    inner: list[Group] = []
    fields = type(chosen).model_fields
    for name, field in sorted(fields.items(), key=lambda item: item[0] != "kind"):
        below = f"{path}.{name}" if path else name
        value, said = getattr(chosen, name), str(field.description)
        kinds = _settings_classes(field.annotation)
        if not kinds:
            own.append(Setting(below, _type(field), _show(value), said))
        elif len(kinds) == 1:
            inner += _groups(below, value, below, said, every_kind)
        elif every_kind and path:  # a union inside another one, which lists the kinds already
            names = ", ".join(_kind(kind()) for kind in kinds)
            own.append(Setting(f"{below}.kind", f"one of {names}", _kind(value), said))
        else:
            for each in [kind() for kind in kinds] if every_kind else [value]:
                inner += _groups(below, each, f"{below}, kind={_kind(each)}", said, every_kind)
    if own:
        yield Group(title, meaning, tuple(own))
    yield from inner


def _kind(settings: Settings) -> str:
    return str(dict(settings).get("kind", ""))


def _settings_classes(annotation: Any) -> list[type[Settings]]:
    """The settings class that an annotation names, or the members of a union of them."""
    found = (annotation, *get_args(annotation))
    return [each for each in found if isinstance(each, type) and issubclass(each, Settings)]


def _type(field: FieldInfo) -> str:
    """Type and range in a few words: integer >= 1, or null."""
    bounds = _bounds(field.metadata)
    parts = _alternatives(field.annotation)
    if bounds:
        parts = [f"{part} {bounds}" if part in ("integer", "number") else part for part in parts]
    return _joined(parts)


def _joined(parts: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _alternatives(annotation: Any) -> list[str]:
    """What a value may be: the names of types, or the values themselves."""
    origin, members = get_origin(annotation), get_args(annotation)
    if annotation in NAMES:
        return [NAMES[annotation]]
    if origin is Literal:
        return [str(member) for member in members]
    if origin is tuple:
        inner = _joined(_alternatives(members[0]))
        return [f"list: {inner}" if members[-1] is Ellipsis else f"list of {len(members)}: {inner}"]
    if not members:
        raise TypeError(f"a setting of type {annotation} has no name yet: add one to NAMES")
    if isinstance(members[-1], FieldInfo):  # Annotated
        return [f"{_alternatives(members[0])[0]} {_bounds(members[-1].metadata)}"]
    if origin is Annotated:  # with a check of our own, which its description explains
        return _alternatives(members[0])
    return [name for member in members for name in _alternatives(member)]


def _bounds(metadata: Iterable[Any]) -> str:
    """What annotated-types says about a number: >= 0, < 1."""
    return ", ".join(
        f"{sign} {_show(bound)}"
        for each in metadata
        for name, sign in SIGNS.items()
        if (bound := getattr(each, name, None)) is not None
    )


def _show(value: Any) -> str:
    """A value as `--set` takes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.4g}"
    return json.dumps(value)


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
