"""What the page of the server relies on, asked without a browser."""

from __future__ import annotations

import json

from clients import Client


def test_a_look_is_refused_in_a_sentence(client: Client) -> None:
    asked = {"q": "ant", "source": "en", "target": "de"}
    answer = client.post("/look", {**asked, "translation": "ANT", "prefix": "BEE"})
    assert (answer.status, "not both" in answer.json["error"]) == (400, True)
    assert client.post("/look", {**asked, "q": "ant " * 300}).status == 400
    body = b"q=ant&source=en&target=%3Cb%3E"
    form = "application/x-www-form-urlencoded"
    shown = client.ask("POST", "/look", body, content_type=form, accept="text/html")
    assert (shown.status, b"&lt;b&gt; is not supported" in shown.body) == (400, True)


def test_only_its_own_script_may_run(client: Client) -> None:
    answer = client.get("/")
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert b"http:" not in answer.body
    assert b"https:" not in answer.body
    assert b"innerHTML" not in answer.body


def test_a_prefix_is_kept_to_the_letter(client: Client) -> None:
    for prefix in ("DOG", "qqq", "DOG  qqq"):
        found = client.translate("ant bee cat", prefix=prefix).json["translatedText"]
        assert found.startswith(prefix), found


def test_a_stream_gives_details_with_each_sentence(client: Client) -> None:
    asked = {"q": " ant bee\n\nfox", "source": "en", "target": "de", "details": True}
    lines = client.post("/translate_stream", asked).body.decode().splitlines()
    found = [json.loads(line)["details"] for line in lines if "details" in line]
    whole = client.post("/translate", asked).json["details"]["sentences"]
    assert found == whole
