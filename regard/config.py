"""Settings that are frozen, refuse unknown keys and can be overridden by dotted paths."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from typing_extensions import Self

from regard.errors import UsageError


class Settings(BaseModel):
    """The base of every component's settings; each stands next to the code it steers."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    def changed(self, **changes: Any) -> Self:
        """The same settings with some fields changed, checked as if they had been given at once.

        pydantic's own `model_copy(update=...)` checks nothing: a misspelt field would vanish.
        """
        try:
            return type(self).model_validate({**dict(self), **changes})
        except ValidationError as error:
            raise UsageError(_explain(error, type(self))) from None


S = TypeVar("S", bound=Settings)


def check(kind: type[S], values: dict[str, Any]) -> S:
    """Build settings from plain values; a wrong one is refused with its dotted path."""
    try:
        return kind.model_validate_json(json.dumps(values))  # as JSON, which has no tuples
    except ValidationError as error:
        raise UsageError(_explain(error, kind)) from None


def override(settings: S, assignments: Iterable[str]) -> S:
    """Apply `path.to.key=value` assignments; values are read as JSON, else as text."""
    values = settings.model_dump()
    for assignment in assignments:
        path, separator, text = assignment.partition("=")
        if not separator:
            raise UsageError(f"'{assignment}' is not a setting: write it as path.to.key=value.")
        _assign(values, path.strip().split("."), _read(text.strip()), path.strip())
    return check(type(settings), values)


def differences(before: Settings, after: Settings) -> list[str]:
    """One line for each value that differs, by its dotted path."""
    old, new = dict(_leaves(before.model_dump())), dict(_leaves(after.model_dump()))
    return [
        f"{path}: was {_show(old.get(path))}, now {_show(new.get(path))}"
        for path in sorted(old.keys() | new.keys())
        if old.get(path, _ABSENT) != new.get(path, _ABSENT)
    ]


_ABSENT = object()


def _show(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _assign(values: dict[str, Any], keys: list[str], value: Any, path: str) -> None:
    for key in keys[:-1]:
        inner = values.get(key)
        if not isinstance(inner, dict):
            raise UsageError(f"There is no setting '{path}'.{_nearest(key, values)}")
        values = inner
    if keys[-1] not in values:
        raise UsageError(f"There is no setting '{path}'.{_nearest(keys[-1], values)}")
    values[keys[-1]] = value


def _nearest(name: str, names: Iterable[str]) -> str:
    known = sorted(names)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f" Did you mean '{close[0]}'?" if close else f" Known here: {', '.join(known)}."


def _leaves(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _explain(error: ValidationError, kind: type[Settings]) -> str:
    first = error.errors()[0]
    names, known = _walk(kind, first["loc"])
    path = ".".join(names) or kind.__name__
    if first["type"] == "extra_forbidden":
        return f"There is no setting '{path}'.{_nearest(names[-1], known)}"
    if first["type"] == "union_tag_invalid":
        context = first["ctx"]
        kinds = context["expected_tags"].replace("'", "")
        return f"The setting '{path}.kind' cannot be '{context['tag']}': choose one of {kinds}."
    reason = first["msg"].removeprefix("Value error, ")
    if isinstance(first["input"], dict):
        return f"The settings of '{path}' do not fit: {reason}."
    return f"The setting '{path}' cannot be {_show_input(first['input'])}: {reason}."


def _show_input(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _walk(kind: type[Settings], place: Iterable[int | str]) -> tuple[list[str], list[str]]:
    """The dotted names that lead to a place, and the names known where its last one stands.

    Among the members of a union pydantic puts the kind into the place, which is no name of ours.
    """
    names: list[str] = []
    known: list[str] = []
    members: tuple[Any, ...] = (kind,)
    for part in map(str, place):
        if len(members) > 1 and (chosen := [m for m in members if _kind_of(m) == part]):
            members = tuple(chosen)
            continue
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
