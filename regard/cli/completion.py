"""Shell completion of recipes, settings and run folders.

Importing a recipe imports torch, which takes seconds, too long for a Tab key. So recipes and
settings are found by parsing the source code, and runs by looking for their files.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent


def complete_recipe(incomplete: str) -> list[str]:
    return [name for name in recipe_names() if name.startswith(incomplete)]


def complete_setting(incomplete: str) -> list[str]:
    return [f"{path}=" for path in setting_paths() if path.startswith(incomplete)]


def complete_run(incomplete: str) -> list[str]:
    """Runs in the folder typed so far and one level below; the shell completes other paths."""
    folder = Path(incomplete) if incomplete.endswith("/") else Path(incomplete).parent
    found = [path.parent for depth in ("*", "*/*") for path in folder.glob(f"{depth}/config.json")]
    return sorted(str(path) for path in found if str(path).startswith(incomplete))


def recipe_names() -> list[str]:
    """Public functions of recipes/ without arguments that return a Config."""
    return [
        node.name
        for path in sorted((PACKAGE / "recipes").glob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and not node.args.args
        and isinstance(node.returns, ast.Name)
        and node.returns.id == "Config"
    ]


def setting_paths() -> list[str]:
    """The dotted path of every setting of every family."""
    return list(dict.fromkeys(_paths("Config", _definitions(), "")))


Definitions = dict[str, ast.AST]
"""Classes, and names for unions of them, by name."""


def _definitions() -> Definitions:
    found: Definitions = {}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not any(word in text for word in ("Settings", "Config", "Field(")):
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found[node.targets[0].id] = node.value
    return found


def _paths(name: str, known: Definitions, prefix: str) -> Iterator[str]:
    for field, annotation in _fields(name, known):
        inner = [each for each in _names(annotation, known) if _is_settings(each, known)]
        for each in inner:
            yield from _paths(each, known, f"{prefix}{field}.")
        if not inner:
            yield prefix + field


def _fields(name: str, known: Definitions) -> Iterator[tuple[str, ast.AST]]:
    """The fields of a class and of those it inherits from, with their annotations."""
    node = known.get(name)
    if not isinstance(node, ast.ClassDef):
        return
    for base in node.bases:
        if isinstance(base, ast.Name):
            yield from _fields(base.id, known)
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            field = each.target.id
            if not field.startswith("_") and "ClassVar" not in ast.unparse(each.annotation):
                yield field, each.annotation


def _names(annotation: ast.AST, known: Definitions) -> Iterator[str]:
    """The names in an annotation, with aliases resolved."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            meaning = known.get(node.id)
            if meaning is None or isinstance(meaning, ast.ClassDef):
                yield node.id
            else:
                yield from _names(meaning, known)


def _is_settings(name: str, known: Definitions) -> bool:
    node = known.get(name)
    return name == "Settings" or (
        isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and _is_settings(base.id, known) for base in node.bases)
    )
