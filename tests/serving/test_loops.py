"""The guard against output that repeats itself: another candidate, or the text up to the loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from clients import Serve

from regard.predict import Candidate, Prediction, Predictor
from regard.serving.loops import is_looping, repeats, without_loop


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("a b c", 1), ("a a", 2), ("a b a b a b c", 3), ("x a b c a b c", 2), ("aaab", 3)],
)
def test_what_is_repeated_is_counted(text: str, count: int) -> None:
    assert repeats(text.split() if " " in text else list(text)) == count


@pytest.mark.parametrize(
    ("text", "source", "looping"),
    [
        ("very very very good", "sehr gut", False),
        ("very very very very good", "sehr gut", True),
        ("no no no no no", "nein nein nein nein", False),  # the source repeats itself too
        ("a b c a b c a b c a b c", "d e f", True),
        ("好好好好好", "good", True),
        ("one two three four", "", False),
    ],
)
def test_a_loop_is_more_than_the_source_repeats(text: str, source: str, looping: bool) -> None:
    assert is_looping(text, source) is looping


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("the end of of of of of", "the end of"),
        ("so a b c a b c a b c a b c a", "so a b c"),
        ("到此为止止止止止", "到此为止"),
        ("nothing is repeated", "nothing is repeated"),
    ],
)
def test_the_loop_is_kept_once(text: str, kept: str) -> None:
    assert without_loop(text) == kept


def test_a_prefix_may_repeat_itself_but_what_follows_may_not() -> None:
    prefix = "na na na na na"
    assert not is_looping(f"{prefix} hey", "hey", prefix)
    assert is_looping(f"{prefix} na na hey", "hey", prefix)
    assert without_loop(f"{prefix} na na hey", prefix) == prefix
    assert without_loop("so it is of of of of of", "so it") == "so it is of"


def test_the_server_prefers_a_candidate_without_a_loop(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As from a model that got lost: the texts are made up, everything else is the server's."""
    found = Predictor.predict
    written = [["SO SO SO SO SO", "GOOD"], ["SO SO SO SO SO", "TO TO TO TO TO"]]

    def lost(self: Predictor, *given: Any) -> list[Prediction]:
        (prediction,) = found(self, *given)
        texts, (first, *_) = written.pop(0), prediction.best
        made: list[Candidate] = [replace(first, text=text) for text in texts]
        return [replace(prediction, text=texts[0], best=tuple(made))]

    monkeypatch.setattr(Predictor, "predict", lost)
    client = serve()
    assert client.translate("ant").json == {"translatedText": "GOOD"}
    assert client.translate("bee").json == {"translatedText": "SO"}
