"""A config as a TOML file that people can read, edit and share."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from datetime import date, time
from pathlib import Path
from typing import Any, Optional

from regard import __version__
from regard.config import check
from regard.data.parallel import PathLike
from regard.errors import UsageError
from regard.recipes import find_recipe
from regard.recipes.config import Config

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def to_toml(config: Config) -> str:
    """Every setting that has a value; `read_config` makes the same config of it."""
    head = f"# A complete config of regard {__version__}, for regard train --config FILE.\n"
    return head + "".join(_sections(config.model_dump(mode="json"), ""))


def read_config(path: PathLike, recipe: Optional[str] = None) -> Config:
    """The config of a file: what it leaves out is as in the recipe that is given or that the file
    names, or else as the settings' own defaults."""
    values = _read(Path(path))
    named = values.pop("recipe", None)
    if named is not None and not isinstance(named, str):
        raise UsageError(f"{path}: The recipe cannot be {named!r}: give its name.")
    try:
        base = find_recipe(chosen).model_dump(mode="json") if (chosen := recipe or named) else {}
        return check(Config, _merged(base, values))
    except UsageError as problem:
        raise UsageError(f"{path}: {problem}") from None


_MAX_DEPTH = 100


def _read(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        _check_value(values)
        return values
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8: save it as such.") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}.") from None
    except RecursionError:
        raise UsageError(f"{path} is nested too deeply to hold settings.") from None
    except ValueError:  # of int()
        raise UsageError(f"{path} has a number of thousands of digits: shorten it.") from None
    except UsageError as problem:
        raise UsageError(f"{path}: {problem}") from None


def _check_value(value: Any, depth: int = 0) -> None:
    """Refuse what TOML has and settings do not."""
    if depth > _MAX_DEPTH:
        raise RecursionError
    if isinstance(value, (date, time)):
        raise UsageError(f"{value} is a date or a time, which no setting can be.")
    inner = value.values() if isinstance(value, dict) else value
    for each in inner if isinstance(value, (dict, list)) else ():
        _check_value(each, depth + 1)


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the changes applied; another kind of model shares no settings with
    the one before, and a budget is one number."""
    merged = dict(base)
    for name, value in changes.items():
        before = merged.get(name)
        inside = isinstance(before, dict) and isinstance(value, dict) and name != "budget"
        merged[name] = _section(before, value) if inside else value
    return merged


def _section(before: Any, changes: Any) -> dict[str, Any]:
    same = changes.get("kind", before.get("kind")) == before.get("kind")
    return _merged(before, changes) if same else dict(changes)


def _sections(values: Mapping[str, Any], path: str) -> Iterator[str]:
    """The plain settings of a section under its name, then the sections inside it."""
    plain = {name: value for name, value in values.items() if not isinstance(value, dict)}
    given = {name: value for name, value in plain.items() if value is not None}
    if path and given:
        yield f"\n[{path}]\n"
    for name, value in given.items():
        yield f"{name} = {json.dumps(value, ensure_ascii=False)}\n"
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _sections(value, f"{path}.{name}" if path else name)
