"""Every sentence about something wrong is written for people: no class names, patterns or types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config import Settings, check, override
from regard.errors import UsageError
from regard.messages import counted, unknown
from regard.metrics.text import TextMetrics
from regard.recipes import RECIPES, find_recipe
from regard.recipes.config import Config
from regard.search.sample import Sample


def subclasses(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


CLASSES = {each.__name__ for each in subclasses(Settings)}
MACHINERY = re.compile(
    r"pydantic|Traceback|Input should|instance of|valid dictionary|literal\[|function-|"
    r"tuple\[|NoneType|[\^$\\]|\(\?|\.\*|\[a-z"
)
WORDS = st.text("abc xyz-", max_size=8)  # cannot spell any of these
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=4,
)


def assert_for_people(sentence: str) -> None:
    assert not MACHINERY.search(sentence), sentence
    assert not set(re.findall(r"\w+", sentence)) & CLASSES, sentence
    assert "\n" not in sentence
    assert sentence.endswith((".", "?")), sentence


def paths(values: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Every dotted path, of sections too."""
    for name, value in values.items():
        yield prefix + name
        if isinstance(value, dict):
            yield from paths(value, f"{prefix}{name}.")


PATHS = {name: list(paths(find_recipe(name).model_dump())) for name in RECIPES}
ASSIGNMENTS = st.sampled_from(sorted(PATHS)).flatmap(
    lambda name: st.tuples(st.just(name), st.sampled_from(PATHS[name]), VALUES)
)


@settings(max_examples=400, deadline=None)
@given(ASSIGNMENTS)
def test_what_is_said_about_any_value_of_any_setting(given: tuple[str, str, Any]) -> None:
    recipe, path, value = given
    try:
        override(find_recipe(recipe), [f"{path}={json.dumps(value)}"])
    except UsageError as refused:
        assert_for_people(str(refused))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(PATHS)), st.data())
def test_what_is_said_about_any_value_in_a_file_of_settings(name: str, data: st.DataObject) -> None:
    values = find_recipe(name).model_dump(mode="json")
    inner = values
    for key in data.draw(st.sampled_from(PATHS[name])).split("."):
        section, inner = inner, inner[key]
    section[data.draw(st.sampled_from([key, "abc", "kind"]))] = data.draw(VALUES)
    try:
        check(Config, values)
    except UsageError as refused:
        assert_for_people(str(refused))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([TextMetrics, Sample]), st.data())
def test_what_is_said_about_any_option_that_becomes_a_setting(
    kind: type[Settings], data: st.DataObject
) -> None:
    field = data.draw(st.sampled_from(sorted(kind.model_fields)))
    try:
        check(kind, {field: data.draw(VALUES)})
    except UsageError as refused:
        assert_for_people(str(refused))


def test_the_check_itself_would_notice() -> None:
    for wrong in (
        "The setting 'model' cannot be 6: Input should be a dictionary.",
        "It should match ^(a|b)$.",
        "The settings of 'Config' do not fit.",
        "A TransformerConfig is needed.",
        "two\nlines.",
    ):
        with pytest.raises(AssertionError):
            assert_for_people(wrong)


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("model.layers=0", "The setting 'model.layers' cannot be 0: give 1 or more."),
        ("model.layers=x", "The setting 'model.layers' cannot be 'x': give a whole number."),
        ("model.dropout=1", "The setting 'model.dropout' cannot be 1: give less than 1."),
        ("model.norm=1", "The setting 'model.norm' cannot be 1: choose one of "),
        ("model=6", "The setting 'model' cannot be 6: it has settings of its own; set one of"),
        ("model.tying=all tokenizer.joint=false", "These settings do not fit together: tying all"),
        ("model.width=17", "The settings of 'model' do not fit together: a width of 17"),
        ("model={}", "The settings of 'model' have no kind: give 'model.kind' too."),
    ],
)
def test_the_sentence_says_what_to_do(assignment: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        override(find_recipe("tiny"), assignment.split(" "))
    assert sentence in str(refused.value)


def test_an_unknown_name_is_answered_with_the_nearest_or_all() -> None:
    names = ["tiny", "small", "LSTM"]
    assert unknown("recipe", "teeny", names) == "There is no recipe 'teeny'. Did you mean 'tiny'?"
    assert unknown("recipe", "lstm", names) == "There is no recipe 'lstm'. Did you mean 'LSTM'?"
    all_of_them = "There is no recipe 'zzz'. Choose one of tiny, small, LSTM."
    assert unknown("recipe", "zzz", names) == all_of_them
    assert unknown("key", "x", names, "a.x").startswith("There is no key 'a.x'.")
    only = "There is no log 'wandb'. The only one is 'tensorboard'."
    assert unknown("log", "wandb", ["tensorboard"]) == only


def test_one_and_many() -> None:
    assert counted(1, "pair") == "1 pair"
    many = [counted(number, "step") for number in (0, 2, 2000)]
    assert many == ["0 steps", "2 steps", "2,000 steps"]


def test_settings_have_no_patterns() -> None:
    """A pattern that is not matched could only be answered with the pattern."""
    for kind in subclasses(Settings):
        for field in kind.model_fields.values():  # type: ignore[attr-defined]
            assert "pattern=" not in repr(field.metadata), kind
            assert "pattern=" not in repr(get_args(field.annotation)), kind
