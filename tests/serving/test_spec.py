"""The description of the API, and a few hundred requests generated from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlencode

import jsonschema_rs
import pytest
from clients import Answer, Client, Serve
from generated import send_generated

EXAMPLES = 25


def test_every_route_is_described(client: Client) -> None:
    found = client.get("/spec").json
    assert {
        "/translate",
        "/translate_stream",
        "/detect",
        "/translate_file",
        "/download_file/{key}",
        "/languages",
        "/frontend/settings",
        "/health",
        "/ready",
        "/metrics",
        "/suggest",
    } <= set(found["paths"])
    for path in ("/translate", "/detect", "/translate_file", "/translate_stream"):
        described = found["paths"][path]["post"]
        assert described["requestBody"]["content"]["multipart/form-data"]["schema"]["properties"]
        assert {"200", "400", "403", "413", "429", "503", "504"} <= set(described["responses"])


VALUES: dict[str, Any] = {
    "q": "ant bee",
    "source": "en",
    "target": "de",
    "format": "text",
    "alternatives": 2,
    "details": True,
    "prefix": "DOG",
    "translation": "BEE ANT",
    "file": ("a.txt", "ant bee"),
    "api_key": "any",
}


def some(names: Iterable[str]) -> dict[str, Any]:
    """Values of all fields, of which `prefix` and `translation` exclude each other."""
    found = {name: VALUES[name] for name in names}
    if "translation" in found:
        del found["prefix"]
    return found


def asking(description: Any) -> Iterator[tuple[str, Any]]:
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            if method == "post" and "requestBody" in operation:
                yield path, operation


def encoded(kind: str, values: dict[str, Any]) -> bytes:
    if kind == "application/json":
        return json.dumps(values).encode()
    if kind == "application/x-www-form-urlencoded":
        return urlencode(values).encode()
    parts = list[str]()
    for name, value in values.items():
        file, text = value if isinstance(value, tuple) else ("", value)
        more = f'; filename="{file}"' if file else ""
        parts.append(
            f'--X\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{text}\r\n'
        )
    return "".join([*parts, "--X--\r\n"]).encode()


def check_answer(description: Any, operation: Any, answer: Answer) -> None:
    """The answer is one of those that are described."""
    described = operation["responses"][str(answer.status)]["content"]
    kind = answer.headers.get_content_type()
    assert kind in described, (kind, answer.body)
    if kind == "application/json":
        whole = {**described[kind]["schema"], "components": description["components"]}
        jsonschema_rs.validate(whole, answer.json)


def ask(client: Client, path: str, kind: str, values: dict[str, Any], query: str = "") -> Answer:
    named = f"{kind}; boundary=X" if kind.startswith("multipart") else kind
    return client.ask("POST", path + query, encoded(kind, values), content_type=named)


def test_each_field_is_read_from_every_body_that_is_described(client: Client) -> None:
    description, count = client.get("/spec").json, 0
    for path, operation in asking(description):
        for kind, content in operation["requestBody"]["content"].items():
            names, needed = content["schema"]["properties"], content["schema"]["required"]
            values = some(names)
            answer = ask(client, path, kind, values)
            assert answer.status == 200, (path, kind, answer.body)
            check_answer(description, operation, answer)
            for name in needed:
                rest = {each: value for each, value in values.items() if each != name}
                answer = ask(client, path, kind, rest)
                error = f"Invalid request: missing {name} parameter"
                assert (answer.status, answer.json) == (400, {"error": error})
                check_answer(description, operation, answer)
            for name in names if kind == "application/json" else ():
                answer = ask(client, path, kind, {**values, name: {"no": "value"}})
                assert answer.status == 400, (path, name, answer.body)
                assert f" {name} parameter is not " in answer.json["error"]
            count += 1
    assert count >= 4 * 3 + 1


def test_each_field_is_read_from_the_query_as_described(client: Client) -> None:
    description, form = client.get("/spec").json, "application/x-www-form-urlencoded"
    for path, operation in asking(description):
        query = some(each["name"] for each in operation["parameters"])
        assert not any(each["required"] for each in operation["parameters"])
        contents = operation["requestBody"]["content"]
        kind, content = (
            next(iter(contents.items())) if form not in contents else (form, contents[form])
        )
        values = some(content["schema"]["properties"])
        for name, value in query.items():
            rest = {each: value for each, value in values.items() if each != name}
            assert ask(client, path, kind, rest, f"?{urlencode({name: value})}").status == 200
        whole = client.ask("POST", f"{path}?{urlencode(query)}")
        assert whole.status == (400 if operation["requestBody"]["required"] else 200)
        check_answer(description, operation, whole)
        if path == "/translate":
            assert len(whole.json["alternatives"]) == 2
            assert whole.json["translatedText"].startswith("DOG ")
            assert whole.json["details"]["sentences"]
            assert (
                client.ask("POST", f"{path}?{urlencode({**query, 'details': 'yes'})}").status == 400
            )


def test_a_list_of_texts_is_described_in_json_alone(client: Client) -> None:
    description = client.get("/spec").json
    operation = description["paths"]["/translate"]["post"]
    values = {"source": "en", "target": "de", "alternatives": 1, "details": True}
    for kind, content in operation["requestBody"]["content"].items():
        either = content["schema"]["properties"]["q"].get("anyOf", [])
        assert ("array" in [each["type"] for each in either]) == (kind == "application/json")
    answer = client.translate(["ant bee", "cat"], **values)
    assert len(answer.json["details"]) == 2
    check_answer(description, operation, answer)


def test_what_is_only_asked_for_answers_as_described(client: Client) -> None:
    description = client.get("/spec").json
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            if "requestBody" not in operation:
                answer = client.ask(method.upper(), path)
                check_answer(description, operation, answer)


@pytest.mark.timeout(120)
def test_generated_requests_find_no_fault(serve: Serve) -> None:
    found = send_generated(serve(deadline=10).address, EXAMPLES)
    assert found.total() > 100
    assert found[200] > 10
    assert found[400] > 10
