"""Clients of LibreTranslate that people use, against a running server."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.error import HTTPError

import pytest
from clients import Client, Serve
from deep_translator import LibreTranslator
from deep_translator.exceptions import AuthorizationException, ServerException
from libretranslatepy import LibreTranslateAPI


def test_libretranslatepy(client: Client) -> None:
    api = LibreTranslateAPI(client.address)
    assert api.translate("ant bee cat", "en", "de") == "CAT BEE ANT"
    assert api.detect("The dog is here and it sleeps.")[0]["language"] == "en"
    assert api.languages() == [
        {"code": "en", "name": "English", "targets": ["de", "en"]},
        {"code": "de", "name": "German", "targets": ["de"]},
    ]
    with pytest.raises(HTTPError) as raised:
        api.translate("ant", "en", "zz")
    assert json.loads(raised.value.read()) == {"error": "zz is not supported"}


def test_libretranslatepy_with_a_key(client: Client) -> None:
    api = LibreTranslateAPI(client.address, api_key="unknown here, and ignored")
    assert api.translate("ant bee", "en", "de") == "BEE ANT"
    assert len(api.languages()) == 2  # a GET with a body


def test_deep_translator(client: Client) -> None:
    translator = LibreTranslator(
        source="en", target="de", api_key="any", custom_url=f"{client.address}/"
    )
    assert translator.translate("ant bee cat") == "CAT BEE ANT"
    assert translator.translate_batch(["ant bee", "cat"]) == ["BEE ANT", "CAT"]
    long = "\n".join(["ant bee cat"] * 400)  # a request line of about 7,000 bytes
    assert translator.translate(long) == "\n".join(["CAT BEE ANT"] * 400)
    with pytest.raises(ServerException):
        LibreTranslator("de", "en", "any", custom_url=f"{client.address}/").translate("ant")


def test_deep_translator_with_a_wrong_key(serve: Serve, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("right\n")
    client = serve(keys=keys)
    address = f"{client.address}/"
    right = LibreTranslator(source="en", target="de", api_key="right", custom_url=address)
    assert right.translate("ant") == "ANT"
    wrong = LibreTranslator(source="en", target="de", api_key="wrong", custom_url=address)
    with pytest.raises(AuthorizationException):
        wrong.translate("ant")


def test_mastodon_and_weblate(client: Client) -> None:
    """What they send: JSON with html and auto, and batches in JSON."""
    sent = {"q": "<p>ant bee</p>", "source": "auto", "target": "de", "format": "html"}
    answer = client.post("/translate", {**sent, "api_key": ""}).json
    assert answer["translatedText"] == "<p>BEE ANT</p>"
    batch = client.post("/translate", {**sent, "q": ["<p>ant bee</p>", "<p>cat</p>"]}).json
    assert batch["translatedText"] == ["<p>BEE ANT</p>", "<p>CAT</p>"]
    assert {each["code"] for each in client.get("/languages").json} == {"en", "de"}
