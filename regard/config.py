"""Settings: frozen, strict about types and names, and changeable by dotted paths."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from typing_extensions import Self

from regard.errors import UsageError
from regard.messages import shortened, unknown

MAX_LAYERS, MAX_WIDTH, MAX_COUNT, MAX_STEPS = 1_000, 2**18, 1_000_000, 1_000_000_000
"""Bounds of the settings: layers, sizes of a vector, numbers of positions, pieces or slots, and of
steps. They are far above what can be trained, and refuse a typing error before a run begins."""

RENAMED = {
    "dropout_begin": "dropout_start",
    "dropout_passes": "dropout_ramp_epochs",
    "farthest": "max_distance",
    "longest_extra": "max_length_extra",
    "longest_ratio": "max_length_ratio",
}
"""Settings of earlier versions, with their new names."""

REMOVED = {
    "agreement": "R-Drop was removed because it did not improve any result",
    "scored": "greedy search skips the probabilities without it",
}
"""Settings of earlier versions that are gone, and why."""


class Settings(BaseModel):
    """The base class of all settings; each component's settings are defined next to its code."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    def changed(self, **changes: Any) -> Self:
        """A copy with some fields changed, validated like any other settings.

        pydantic's own `model_copy(update=...)` checks nothing: a misspelt field would vanish.
        """
        try:
            return type(self).model_validate({**dict(self), **changes})
        except ValidationError as error:
            raise UsageError(_explain(error, type(self))) from None


S = TypeVar("S", bound=Settings)


def check(kind: type[S], values: dict[str, Any], *, options: bool = False) -> S:
    """Build settings from plain values; an error names the dotted path of the wrong one, or its
    option if the values were given as `options`."""
    try:
        return kind.model_validate_json(json.dumps(values))  # as JSON, which has no tuples
    except ValidationError as error:
        raise UsageError(_explain(error, kind, options)) from None


def override(settings: S, assignments: Iterable[str]) -> S:
    """Apply `path.to.key=value` assignments; a value is read as JSON, or else as text."""
    values = settings.model_dump()
    for assignment in assignments:
        path, separator, text = assignment.partition("=")
        if not separator:
            raise UsageError(
                f"'{shortened(assignment)}' is not a setting: write path.to.key=value."
            )
        _assign(values, path.strip().split("."), _parse(text.strip()), path.strip())
    return check(type(settings), values)


def differences(before: Settings, after: Settings) -> list[str]:
    """One line for each value that differs, with its dotted path."""
    old, new = dict(leaves(before.model_dump())), dict(leaves(after.model_dump()))
    return [
        f"{path}: was {_show(old.get(path))}, now {_show(new.get(path))}"
        for path in sorted(old.keys() | new.keys())
        if old.get(path, _ABSENT) != new.get(path, _ABSENT)
    ]


_ABSENT = object()


def _show(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_MAX_DEPTH = 100


def _parse(text: str) -> Any:
    if text.count("[") + text.count("{") > _MAX_DEPTH:  # no setting is nested like that
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _assign(values: dict[str, Any], keys: list[str], value: Any, path: str) -> None:
    for key in keys[:-1]:
        inner = values.get(key)
        if not isinstance(inner, dict):
            raise UsageError(_no_setting(path, key, values))
        values = inner
    if keys[-1] not in values:
        raise UsageError(_no_setting(path, keys[-1], values))
    values[keys[-1]] = value


def _no_setting(path: str, name: str, names: Iterable[str]) -> str:
    """Why a name is refused: it has a new one, it is gone, or it never was one."""
    known = sorted(names)
    sentence = f"There is no setting '{shortened(path)}' any more"
    if RENAMED.get(name) in known:
        return f"{sentence}: it is now called '{RENAMED[name]}'."
    if name in REMOVED:
        return f"{sentence}: {REMOVED[name]}."
    return unknown("setting", name, known, full_name=path)


def leaves(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is not a group of values, with its dotted path."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _explain(error: ValidationError, kind: type[Settings], options: bool = False) -> str:
    """One sentence about the first error, in our own words: pydantic's name classes."""
    first = error.errors()[0]
    names, known = _walk(kind, first["loc"])
    path, context = ".".join(names), first.get("ctx", {})
    if first["type"] == "extra_forbidden":
        return _no_setting(path, names[-1], known)
    if first["type"] == "union_tag_invalid":
        kinds = context["expected_tags"].replace("'", "")
        given = _show_input(context["tag"])
        return f"The setting '{path}.kind' cannot be {given}: choose one of {kinds}."
    if first["type"] == "union_tag_not_found":
        return f"The settings of '{path}' have no kind: give '{path}.kind' too."
    if first["type"] == "missing":
        return f"The setting '{path}' is missing: give it a value."
    if isinstance(first["input"], (dict, Settings)):
        settings = f"The settings of '{path}'" if path else "These settings"
        settings = "These options" if options else settings
        return f"{settings} do not fit together: {_reason(first['type'], context)}."
    name = f"--{path.replace('_', '-')}" if options else f"The setting '{path}'"
    return f"{name} {refusal(error)}."


def refusal(error: ValidationError) -> str:
    """Why a value is refused, and what to give instead."""
    first = error.errors()[0]
    reason = _reason(first["type"], first.get("ctx", {}))
    return f"cannot be {_show_input(first['input'])}: {reason}"


_REASONS = {
    "bool": "give true or false",
    "dict": "it has settings of its own; set one of these",
    "finite": "give a finite number",
    "float": "give a number",
    "greater_than": "give more than {gt}",
    "greater_than_equal": "give {ge} or more",
    "int": "give a whole number",
    "less_than": "give less than {lt}",
    "less_than_equal": "give {le} or less",
    "list": "give a list",
    "literal": "choose one of {expected}",
    "model": "it has settings of its own; set one of these",
    "string": "give text",
    "too_long": "give a list of length {max_length} or less",
    "too_short": "give a list of length {min_length} or more",
    "tuple": "give a list",
}
"""What to do, by the type of pydantic's error or how it begins."""


def _reason(kind: str, context: Mapping[str, Any]) -> str:
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error" and " or " not in context["expected"]:
        return f"it can only be {_plain(context['expected'])}"
    begins = (kind, kind.split("_")[0])
    sentence = next((_REASONS[each] for each in begins if each in _REASONS), "it does not fit here")
    return sentence.format_map({name: _plain(value) for name, value in context.items()})


def _plain(value: Any) -> str:
    """A bound or a list of choices: 1 rather than 1.0, and no quotes."""
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else f"{value:g}"
    return str(value).replace("'", "")


def _show_input(value: Any) -> str:
    return shortened(repr(value))


def _walk(kind: type[Settings], location: Iterable[int | str]) -> tuple[list[str], list[str]]:
    """The dotted names that lead to an error's location, and the names known beside the last one.

    For a union pydantic puts the member's kind into the location; it is not a name of ours.
    """
    names: list[str] = []
    known: list[str] = []
    members: tuple[Any, ...] = (kind,)
    for part in map(str, location):
        if len(members) > 1 and (chosen := [m for m in members if _kind_of(m) == part]):
            members = tuple(chosen)
            continue
        if names and not members:
            break  # inside the value of a setting
        fields = {name: field for m in members for name, field in m.model_fields.items()}
        names.append(part)
        known = list(fields)
        annotation = fields[part].annotation if part in fields else None
        members = tuple(m for m in (annotation, *get_args(annotation)) if _is_settings(m))
    return names, known


def _kind_of(member: type[Settings]) -> Any:
    return member.model_fields["kind"].default if "kind" in member.model_fields else None


def _is_settings(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Settings)
