"""Every setting is described, and what is listed is what `--set` takes."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.cli import main
from regard.config import Settings, differences, override
from regard.errors import UsageError
from regard.recipes import RECIPES, find_recipe
from regard.settings import WIDTH, as_markdown, as_text, describe_settings

PAGE = Path(__file__).parent.parent / "docs" / "settings.md"


def settings_classes() -> set[type[Settings]]:
    for module in pkgutil.walk_packages(regard.__path__, "regard."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: set[type[Settings]] = set()
    waiting = [Settings]
    while waiting:
        below = waiting.pop().__subclasses__()
        found |= {each for each in below if each.__module__.startswith("regard.")}
        waiting += below
    return found


def leaves(values: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in values.items():
        path = f"{prefix}{name}"
        yield from leaves(value, f"{path}.") if isinstance(value, dict) else [path]


def test_every_field_of_every_settings_class_has_a_description() -> None:
    classes = settings_classes()
    assert {each.__name__ for each in classes} >= {"Config", "TransformerConfig", "Sample"}
    silent = [
        f"{kind.__name__}.{name}"
        for kind in classes
        for name, field in kind.model_fields.items()
        if not (field.description or "").endswith(".")
    ]
    assert not silent, "give each a description: one sentence, with a full stop"


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_is_listed_completely_and_as_set_takes_it(recipe: str) -> None:
    config = find_recipe(recipe)
    listed = [each for group in describe_settings(recipe) for each in group.settings]
    assert sorted(each.path for each in listed) == sorted(leaves(config.model_dump()))
    again = override(config, [f"{each.path}={each.default}" for each in listed])
    rounded = [each for each in differences(config, again) if "dropout_start" not in each]
    assert not rounded


@pytest.mark.parametrize("recipe", [None, *RECIPES])
def test_the_list_fits_a_terminal(recipe: str) -> None:
    assert max(map(len, as_text(describe_settings(recipe)).splitlines())) <= WIDTH == 80


def test_types_and_ranges_are_those_of_the_fields() -> None:
    types = {each.path: each.type for group in describe_settings("base") for each in group.settings}
    assert types["model.layers"] == "integer >= 1, <= 1000"
    assert types["model.dropout"] == "number >= 0, < 1"
    assert types["training.seed"] == "integer >= 0, < 4294967296"
    assert types["training.processes"] == "integer >= 1, <= 1000000 or null"
    assert types["tokenizer.kind"] == "bpe, unigram, word, character, byte, number or marian"
    assert types["training.optimizer.betas"] == "list of 2: number >= 0, < 1"
    assert types["model.residual"] == "true or false"
    assert types["model.mixers"].startswith("list: none, full, window")


def test_without_a_recipe_every_kind_of_model_is_listed_once() -> None:
    titles = [group.title for group in describe_settings()]
    assert len(titles) == len(set(titles))
    for recipe in RECIPES:
        assert f"model, kind={find_recipe(recipe).model.kind}" in titles


def test_searching(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "tiny", "--search", "Dropout"]) == 0
    shown = capsys.readouterr().out
    assert "model.dropout = 0.3" in shown
    assert "training.dropout_start = 0.3333" in shown
    assert "model.layers" not in shown
    with pytest.raises(UsageError, match="No setting mentions 'xyzzy'"):
        describe_settings(search="xyzzy")
    assert main(["settings", "tinny"]) == 2


def test_the_page_is_what_the_code_says() -> None:
    page = as_markdown(describe_settings()) + "\n"
    assert PAGE.read_text(encoding="utf-8") == page, "run 'make settings'"
