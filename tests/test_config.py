"""Settings: frozen, strict, and helpful about what is wrong."""

from __future__ import annotations

from typing import get_args

import pytest
from pydantic import ValidationError

from regard.config import check, differences, override
from regard.errors import UsageError
from regard.models import Architecture
from regard.models.transformer import TransformerConfig
from regard.recipes import RECIPES, find_recipe
from regard.recipes.config import Config


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_comes_back_from_json_as_it_was(name: str) -> None:
    config = find_recipe(name)
    assert check(Config, config.model_dump(mode="json")) == config
    assert Config.model_validate_json(config.model_dump_json()) == config


def test_an_override_changes_its_setting_and_nothing_else() -> None:
    before = find_recipe("tiny")
    after = override(
        before, ["model.layers=6", "training.optimizer.rate=0.5", "tokenizer.kind=word"]
    )
    assert differences(before, after) == [
        "model.layers: was 4, now 6",
        'tokenizer.kind: was "bpe", now "word"',
        "training.optimizer.rate: was 0.004, now 0.5",
    ]
    assert differences(before, before) == []
    assert before == find_recipe("tiny")


def test_another_family_differs_in_every_setting_of_its_own() -> None:
    changes = differences(find_recipe("tiny"), find_recipe("lstm_attention"))
    assert 'model.kind: was "transformer", now "recurrent"' in changes
    assert "model.heads: was 4, now null" in changes


def test_settings_cannot_be_changed_in_place() -> None:
    with pytest.raises(ValidationError):
        find_recipe("tiny").model.layers = 3


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("model.layer=6", "There is no setting 'model.layer'. Did you mean 'layers'?"),
        ("modle.layers=6", "There is no setting 'modle.layers'. Did you mean 'model'?"),
        ("model.layers.deep=6", "There is no setting 'model.layers.deep'."),
        ("zzz=6", "Choose one of batch, budget, model"),
        ("model.layers=x", "The setting 'model.layers' cannot be 'x'"),
        ("model.layers=true", "The setting 'model.layers' cannot be True"),
        ("model=6", "The setting 'model' cannot be 6"),
        ("model.kind=x", "The setting 'model.kind' cannot be 'x': choose one of transformer"),
        (f"model.kind={'x' * 999}", f"The setting 'model.kind' cannot be '{'x' * 56}...: choose"),
        (f"model.{'x' * 999}=1", f"There is no setting 'model.{'x' * 51}...'"),
        ("x" * 999, f"'{'x' * 57}...' is not a setting: write path.to.key=value."),
        ("training.patience=-1", "The setting 'training.patience' cannot be -1"),
        ("training.optimizer.rate=inf", "The setting 'training.optimizer.rate' cannot be 'inf'"),
        ("training.optimizer.rate=1e999", "The setting 'training.optimizer.rate'"),
        ("batch.tokens", "write path.to.key=value"),
        ("=6", "There is no setting ''"),
    ],
)
def test_what_is_wrong_is_named_with_its_path(assignment: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        override(find_recipe("tiny"), [assignment])
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("member", get_args(get_args(Architecture)[0]))
def test_a_misspelt_key_of_any_family_is_refused_with_the_nearest(member: type) -> None:
    kind = member.model_fields["kind"].default
    right, wrong = ("width", "widht") if "width" in member.model_fields else ("member", "memebr")
    with pytest.raises(UsageError, match=rf"no setting 'model\.{wrong}'\. Did you mean '{right}'"):
        check(Config, {"model": {"kind": kind, wrong: 3}})


def test_the_paper_sizes() -> None:
    base, big = find_recipe("base").model, find_recipe("big").model
    assert isinstance(base, TransformerConfig)
    assert isinstance(big, TransformerConfig)
    assert (base.layers, base.width, base.inner, base.heads) == (6, 512, 2048, 8)
    assert (big.layers, big.width, big.inner, big.heads) == (6, 1024, 4096, 16)
    tiny = find_recipe("tiny").model
    assert isinstance(tiny, TransformerConfig)
    assert (tiny.layers, tiny.width, tiny.inner, tiny.heads) == (4, 128, 256, 4)


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("model.farthest=3", "any more: it is now called 'max_distance'."),
        ("search.longest_ratio=3", "any more: it is now called 'max_length_ratio'."),
        ("training.dropout_begin=1", "any more: it is now called 'dropout_start'."),
        ("training.agreement=2", "'training.agreement' any more: R-Drop was removed"),
    ],
)
def test_an_old_name_is_refused_with_the_new_one(assignment: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        override(find_recipe("tiny"), [assignment])
    assert sentence in str(caught.value)


def test_changed_settings_are_validated() -> None:
    config = TransformerConfig()
    assert config.changed(layers=2) == TransformerConfig(layers=2)
    assert config.layers == 4
    with pytest.raises(UsageError, match=r"no setting 'layer'\. Did you mean 'layers'"):
        config.changed(layer=2)
    with pytest.raises(UsageError, match="'layers' cannot be 0"):
        config.changed(layers=0)
    with pytest.raises(UsageError, match="cannot be split among"):
        config.changed(heads=3)
