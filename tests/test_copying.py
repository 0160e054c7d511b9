"""Copying as a setting: the vocabulary it needs, what it is refused with, and runs that have it."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy import SMALL, Crash, at_step, crash, parallel, tensors, train_small, write_corpus

import regard
from regard.config import override
from regard.errors import UsageError
from regard.inspection.look import look
from regard.inspection.page import page
from regard.nn.copying import Copying
from regard.recipes import find_recipe
from regard.runs.folder import Run
from regard.runs.load import load_model, load_predictor

COPYING = "model.copying=true"
APART = ("tokenizer.joint=false", "model.tying=target")


@pytest.fixture
def corpus(tmp_path: Path) -> dict[str, Path]:
    return write_corpus(tmp_path / "corpus")


def test_two_vocabularies_are_refused() -> None:
    with pytest.raises(UsageError, match=r"copying needs one vocabulary .* tokenizer\.joint=true"):
        override(find_recipe("tiny"), [COPYING, *APART])
    ensemble = ["model.member.copying=true", "tokenizer.joint=false", "model.member.tying=target"]
    with pytest.raises(UsageError, match="copying needs one vocabulary"):
        override(find_recipe("ensemble"), ensemble)


@pytest.mark.parametrize("recipe", ["language", "tagger", "nonautoregressive"])
def test_what_has_no_source_to_copy_from_or_no_decoder_refuses_it(recipe: str) -> None:
    with pytest.raises(UsageError, match=r"model\.copying"):
        override(find_recipe(recipe), [COPYING])


def test_the_target_of_a_run_has_all_ids(tmp_path: Path, corpus: dict[str, Path]) -> None:
    plain, copying = (
        train_small(tmp_path / name, corpus, *settings, steps=1).tokenizers()
        for name, settings in (("plain", ()), ("copying", (COPYING,)))
    )
    assert plain.target.size < plain.source.size
    assert copying.target.size == copying.source.size == plain.source.size


def test_a_given_tokenizer_gets_all_ids_too(tmp_path: Path, corpus: dict[str, Path]) -> None:
    train_small(tmp_path / "plain", corpus, steps=1)
    given = {"tokenizer": tmp_path / "plain"}
    run = train_small(tmp_path / "run", corpus, COPYING, steps=1, **given)
    assert run.tokenizers().target.size == run.tokenizers().source.size
    train_small(tmp_path / "run", corpus, COPYING, steps=1, **given)  # the same again
    train_small(tmp_path / "apart", corpus, *APART, steps=1)
    with pytest.raises(UsageError, match=r"for each side: set model\.copying=false, or"):
        train_small(
            tmp_path / "other", corpus, COPYING, "model.tying=target", tokenizer=tmp_path / "apart"
        )


def test_a_run_resumes_exactly(tmp_path: Path, corpus: dict[str, Path]) -> None:
    train_small(tmp_path / "once", corpus, COPYING, steps=8, save_every=3)
    with pytest.raises(Crash), at_step(5, crash):
        train_small(tmp_path / "twice", corpus, COPYING, steps=8, save_every=3)
    train_small(tmp_path / "twice", corpus, COPYING, steps=8, save_every=3)
    assert tensors(tmp_path / "once", 8) == tensors(tmp_path / "twice", 8)


@pytest.mark.parametrize("options", [{}, {"int8": True}, {"shortlist": 3}])
def test_a_run_translates_in_all_ways(
    tmp_path: Path, corpus: dict[str, Path], options: dict[str, int]
) -> None:
    run = train_small(tmp_path / "run", corpus, COPYING, steps=2)
    assert isinstance(load_model(run)[0].output, Copying)
    assert load_predictor(run, **options, say=lambda _: None)(["ant bee", "cat"])


def test_what_is_copied_can_be_looked_at(tmp_path: Path, corpus: dict[str, Path]) -> None:
    regard.train(
        "rnn_plain",
        run=tmp_path / "run",
        steps=2,
        settings=[
            *(each for each in SMALL if "inner" not in each and "heads" not in each),
            COPYING,
        ],
        quiet=True,
        **parallel(corpus),
    )
    found = look(load_predictor(Run.open(tmp_path / "run")), "ant bee cat")
    assert list(found.layers.kinds) == ["copy"]  # its decoder has no attention of its own
    weights = found.attention("copy")
    assert weights.shape == (len(found.target.ids), len(found.source.ids))
    assert (weights.sum(axis=1) < 1).all()
    assert "copied from the source" in page([found])
    (snapshot,) = (tmp_path / "run" / "snapshots").iterdir()
    assert '"columns": ["' in snapshot.read_text()
