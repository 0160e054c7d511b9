"""The rest of the API: what is known, methods, headers, keys and rates."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from clients import Client, Serve

from regard.errors import UsageError
from regard.serving import rates
from regard.serving.detecting import Detector
from regard.serving.rates import Keys, Rates
from regard.serving.refusal import RefusedError


def test_health_readiness_and_metrics(client: Client) -> None:
    assert client.get("/health").json == {"status": "ok"}
    assert client.get("/ready").json == {"status": "ready"}
    client.translate("ant")
    text = client.get("/metrics").body.decode()
    assert 'regard_request_seconds_count{path="/translate",status="200"}' in text
    assert "regard_queue_characters 0.0" in text


def test_metrics_may_need_a_token(serve: Serve) -> None:
    client = serve(metrics_token="secret")
    for given in ({}, {"authorization": "Bearer other"}, {"authorization": "secret"}):
        answer = client.ask("GET", "/metrics", **given)
        assert (answer.status, answer.json) == (401, {"error": "Unauthorized"})
    assert client.ask("GET", "/metrics", authorization="Bearer s\xe9cret").status == 401
    assert client.ask("GET", "/metrics", authorization="Bearer secret").status == 200


def test_a_server_that_is_stopping_is_not_ready_but_answers(serve: Serve) -> None:
    client = serve(drain=60.0)
    client.server.stop()
    answer = client.get("/ready")
    assert (answer.status, answer.json) == (503, {"status": "stopping"})
    answer = client.translate("ant bee")
    assert (answer.status, answer.json) == (200, {"translatedText": "BEE ANT"})
    assert answer.headers["Connection"] == "close"  # so that the client asks elsewhere next time
    client.server.should_exit = True


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/translate"),
        ("GET", "/detect"),
        ("POST", "/languages"),
        ("POST", "/health"),
        ("POST", "/spec"),
    ],
)
def test_the_wrong_method(client: Client, method: str, path: str) -> None:
    assert client.ask(method, path).status == 405


def test_head_gives_the_headers_of_get(client: Client) -> None:
    for path in ("/", "/health", "/languages", "/nothing"):
        head, got = client.ask("HEAD", path), client.get(path)
        assert (head.status, head.body) == (got.status, b"")
        assert head.headers["Content-Length"] == got.headers["Content-Length"]
    assert client.ask("HEAD", "/translate").status == 405


def test_cors_on_every_response(client: Client) -> None:
    for answer in (
        client.get("/languages"),
        client.get("/nothing"),
        client.post("/translate", {}),
        client.ask("OPTIONS", "/translate"),
    ):
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert answer.headers["Access-Control-Allow-Methods"] == "GET, POST"
    assert client.get("/nothing").status == 404


def test_detection_ranks_the_languages_of_the_server(client: Client) -> None:
    for text, language in (
        ("The house is very old, and nobody lives there.", "en"),
        ("Das Haus ist sehr alt, und niemand wohnt dort.", "de"),
    ):
        found = client.form("/detect", q=text).json
        assert found[0]["language"] == language
        assert len(found) == 2
        assert found[0]["confidence"] > 90
    assert client.form("/detect", q="\U0001f600").json == [{"confidence": 0.0, "language": "en"}]
    assert client.form("/detect").json == {"error": "Invalid request: missing q parameter"}


def test_auto_says_what_it_found(client: Client) -> None:
    answer = client.translate("the ant and the bee are here", source="auto").json
    assert answer["detectedLanguage"]["language"] == "en"
    assert isinstance(answer["detectedLanguage"]["confidence"], float)
    unchanged = "Das Haus ist sehr alt."
    assert client.translate(unchanged, source="auto").json["translatedText"] == unchanged


def test_scripts_of_a_language_are_not_told_apart() -> None:
    detector, text = Detector(["en", "zh-Hans", "zh-Hant"]), "他住在北京，每天都去学校学习中文。"
    assert detector.rank(text)[0].language == "zh-Hans"
    for sources, language in ((["en", "zh-Hans"], "zh-Hans"), (["zh-Hant", "en"], "zh-Hant")):
        code, detected = detector.source(text, sources)
        assert (code, detected.language) == (language, language)
        assert detected.confidence > 90
    assert detector.source("The house is very old.", ["zh-Hant", "en"])[0] == "en"


def test_the_settings_of_other_pages(client: Client) -> None:
    found = client.get("/frontend/settings").json
    assert found["charLimit"] == 10_000
    assert found["apiKeys"] is found["keyRequired"] is found["suggestions"] is False
    assert found["filesTranslation"] is True
    assert found["supportedFilesFormat"] == [".txt", ".html", ".srt", ".docx", ".odt"]
    assert found["language"]["source"] == {"code": "auto", "name": "Auto (Detect)"}
    answer = client.post("/suggest", {"q": "a", "s": "b"})
    assert (answer.status, list(answer.json)) == (403, ["error"])


def test_too_many_requests(serve: Serve) -> None:
    client = serve(requests=3)
    assert client.translate("ant").status == 200
    answer = client.translate(["ant", "bee", "cat"])
    assert (answer.status, answer.json) == (429, {"error": "Slowdown: 3 per 1 minute"})
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert client.translate(["ant", "bee"]).status == 200
    assert client.translate("ant").status == 429
    assert client.get("/languages").status == 200


def test_a_minute_moves() -> None:
    now = [0.0]
    limited = Rates(lambda: now[0])
    limited.spend("a", 2, 3)
    now[0] = 30.0
    limited.spend("a", 1, 3)
    with pytest.raises(RefusedError):
        limited.spend("a", 1, 3)
    limited.spend("b", 3, 3)
    now[0] = 60.0
    limited.spend("a", 2, 3)


def test_counting_takes_no_longer_the_more_requests_come() -> None:
    limited, before = Rates(), time.process_time()
    for _ in range(50_000):
        limited.spend("a", 1, 1_000_000)
    assert time.process_time() - before < 5  # adding all of them up each time takes 20 seconds


def test_keys(serve: Serve, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("# ours\n\nshort 1000 5\nlong\n")
    client = serve(keys=keys, required=True)
    answer = client.translate("ant")
    assert (answer.status, answer.json) == (
        400,
        {"error": "Please contact the server operator to get an API key"},
    )
    answer = client.translate("ant", api_key="wrong")
    assert (answer.status, answer.json) == (403, {"error": "Invalid API key"})
    assert client.translate("ant bee", api_key="long").status == 200
    assert client.translate("ant bee", apiKey="long").status == 200
    answer = client.translate("ant bee", api_key="short")
    assert answer.json == {"error": "Invalid request: request (7) exceeds text limit (5)"}


def test_keys_change_while_the_server_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "REREAD", 0.0)
    path = tmp_path / "keys"
    path.write_text("one\n")
    keys = Keys(path)
    path.write_text("two 5\n")
    os.utime(path, ns=(1, 1))
    assert keys.find("two").requests == 5
    with pytest.raises(RefusedError, match="Invalid API key"):
        keys.find("one")
    path.write_text("two five\n")
    os.utime(path, ns=(2, 2))
    assert keys.find("two").requests == 5
    with pytest.raises(UsageError, match="keys:1: write a key"):
        Keys(path)


def test_a_run_without_languages_is_refused(serve: Serve, toy_run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for each in toy_run.iterdir():
        if each.name != "languages.json":
            (copy / each.name).symlink_to(each)
    with pytest.raises(UsageError, match=r"add them, as in .*copy:en:de, or"):
        serve(str(copy))
    with pytest.raises(UsageError, match=r"write RUN:en:de"):
        serve(f"{copy}:en")
    with pytest.raises(UsageError, match="both translate fr to it"):
        serve(f"{copy}:fr:it", f"{toy_run}:fr:it")
    client = serve(f"{copy}:fr:it", str(toy_run))
    assert client.translate("ant bee", source="fr", target="it").json["translatedText"] == "BEE ANT"
    assert client.translate("ant bee").json["translatedText"] == "BEE ANT"
