"""/translate as clients know it: inputs of every kind, the shapes of answers, errors in order."""

from __future__ import annotations

import json
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from clients import Client, Serve
from toy import some_lines, turned

FORM = "application/x-www-form-urlencoded"


def test_json_form_query_and_multipart_give_the_same(client: Client) -> None:
    fields = {"q": "ant bee cat", "source": "en", "target": "de"}
    coded = urllib.parse.urlencode(fields)
    parts = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    answers = [
        client.post("/translate", fields),
        client.form("/translate", **fields),
        client.ask("POST", f"/translate?{coded}", b""),
        client.ask("POST", f"/translate?{coded}"),
        client.ask(
            "POST",
            "/translate",
            f"{parts}--x--\r\n".encode(),
            content_type="multipart/form-data; boundary=x",
        ),
    ]
    assert [(each.status, each.json) for each in answers] == [
        (200, {"translatedText": "CAT BEE ANT"})
    ] * 5


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("q=schläft; 日本 \U0001f600", "schläft; 日本 \U0001f600"),  # as `curl --data` sends it
        ("q=schl%C3%A4ft%3B+a%2Bb%26c", "schläft; a+b&c"),
        ("q=100% sure%", "100% sure%"),
    ],
)
def test_a_form_is_utf_8_percent_encoded_or_not(client: Client, body: str, text: str) -> None:
    sent = f"{body}&source=de&target=de&&empty=".encode()
    answer = client.ask("POST", "/translate", sent, content_type=FORM)
    assert (answer.status, answer.json) == (200, {"translatedText": text})


def test_a_form_of_many_fields_is_refused_at_once(client: Client) -> None:
    before = time.process_time()
    answer = client.ask("POST", "/translate", b"&" * 9_900_000, content_type=FORM)
    refused = {"error": "Invalid request: the form cannot be read"}
    assert (answer.status, answer.json) == (400, refused)
    assert time.process_time() - before < 2  # reading them all takes several times as long
    answer = client.ask("POST", "/translate?" + "a=&" * 100_000)
    refused = {"error": "Invalid request: the query string cannot be read"}
    assert (answer.status, answer.json) == (400, refused)


def test_an_array_gives_arrays(client: Client) -> None:
    answer = client.translate(["ant bee", "cat"], alternatives=2, source="auto").json
    assert answer["translatedText"] == ["BEE ANT", "CAT"]
    assert [len(each) <= 2 for each in answer["alternatives"]] == [True, True]
    assert answer["detectedLanguage"][0] == answer["detectedLanguage"][1]


def test_alternatives_are_others_and_none_without_asking(client: Client) -> None:
    answer = client.translate("ant bee cat dog", alternatives=3).json
    found = answer["alternatives"]
    assert 1 <= len(found) <= 3
    assert len({answer["translatedText"], *found}) == len(found) + 1
    assert "alternatives" not in client.translate("ant").json


def test_white_space_and_what_is_not_words_stay_in_place(client: Client) -> None:
    text = "  ant bee.\n\n\tcat   dog!  \r\n--- \U0001f600\n"
    found = client.translate(text).json["translatedText"]
    first, second = client.translate(["ant bee.", "cat   dog!"]).json["translatedText"]
    assert found == f"  {first}\n\n\t{second}  \r\n--- \U0001f600\n"
    for same in ("\U0001f600 \U0001f600", "   ", "...", "\n"):
        answer = client.translate(same, source="auto").json
        assert answer["translatedText"] == same
        assert answer["detectedLanguage"] == {"confidence": 0.0, "language": "en"}


def test_the_same_language_is_returned_unchanged(client: Client) -> None:
    assert client.translate("ant  bee", target="en").json == {"translatedText": "ant  bee"}


def test_a_sentence_alone_and_in_any_batch_gives_the_same(client: Client) -> None:
    lines = some_lines(60, seed=7)
    alone = [client.translate(line).json["translatedText"] for line in lines]
    assert client.translate(lines).json["translatedText"] == alone
    with ThreadPoolExecutor(20) as pool:
        together = list(pool.map(lambda line: client.translate(line).json, lines))
    assert [each["translatedText"] for each in together] == alone
    assert sum(text == turned(line) for text, line in zip(alone, lines, strict=True)) > 50


def test_details_give_scores_and_aligned_words(client: Client) -> None:
    details = client.translate("ant bee cat", details=True).json["details"]
    (sentence,) = details["sentences"]
    assert details["score"] == sentence["score"] < 0
    assert sentence["alignment"] == [[0, 3, 8, 11], [4, 7, 4, 7], [8, 11, 0, 3]]


def test_a_prefix_is_kept_and_continued(client: Client) -> None:
    found = client.translate("ant bee cat", prefix="DOG").json["translatedText"]
    assert found.startswith("DOG ")
    assert client.translate(["ant"], prefix="DOG").status == 400


@pytest.mark.parametrize("prefix", ["DOG DOG DOG DOG DOG DOG", "DOG " * 9 + "ANT"])
def test_a_prefix_may_repeat_itself(client: Client, prefix: str) -> None:
    found = client.translate("ant bee cat", prefix=prefix, alternatives=2).json
    for text in (found["translatedText"], *found["alternatives"]):
        assert text.startswith(prefix)


def test_a_prefix_of_nothing_that_is_translated_changes_nothing(client: Client) -> None:
    for text in ("...", " \n", "\U0001f600"):
        answer = client.translate(text, prefix="DOG. CAT", details=True)
        assert (answer.status, answer.json["translatedText"]) == (200, text)


def test_a_prefix_is_not_longer_than_a_translation_can_be(serve: Serve) -> None:
    client = serve(pieces=8)
    begun = "DOG ANT BEE CAT FOX"
    assert client.translate("ant bee", prefix=begun).json["translatedText"].startswith(begun)
    for path in ("/translate", "/translate_stream"):
        fields = {"q": "ant bee", "source": "en", "target": "de", "prefix": "DOG " * 500}
        answer = client.post(path, fields)
        assert answer.status == 400
        assert "prefix parameter exceeds " in answer.json["error"]


def test_a_stream_gives_the_same_text_in_parts(client: Client) -> None:
    text = "ant bee\ncat dog\n\neel"
    body = json.dumps({"q": text, "source": "en", "target": "de"}).encode()
    answer = client.ask("POST", "/translate_stream", body, content_type="application/json")
    parts = [json.loads(line)["translatedText"] for line in answer.body.decode().splitlines()]
    assert len(parts) == 4
    assert "".join(parts) == client.translate(text).json["translatedText"]


MISSING = "Invalid request: missing {} parameter"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"q": None, "source": None}, MISSING.format("q")),
        ({"q": "", "target": "xx"}, MISSING.format("q")),
        ({"q": []}, MISSING.format("q")),
        ({"source": None, "target": None}, MISSING.format("source")),
        ({"target": ""}, MISSING.format("target")),
        ({"alternatives": "many"}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": 1.5}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": [1]}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": 10}, "Invalid request: alternatives parameter must be <= 9"),
        ({"alternatives": 10**4000}, "Invalid request: alternatives parameter must be <= 9"),
        ({"q": "a" * 10001}, "Invalid request: request (10001) exceeds text limit (10000)"),
        ({"q": ["a"] * 101}, "Invalid request: request (101) exceeds text limit (100)"),
        ({"source": "ZZ"}, "zz is not supported"),
        ({"source": "ZZ" * 500}, f"{'zz' * 28}z... is not supported"),
        ({"target": "zz" * 500}, f"{'zz' * 28}z... is not supported"),
        ({"format": "xyz" * 500}, f"{'xyz' * 19}... format is not supported"),
        ({"target": "zz", "format": "xyz"}, "zz is not supported"),
        ({"format": "xyz"}, "xyz format is not supported"),
        ({"format": "xyz", "source": "de", "target": "en"}, "xyz format is not supported"),
        (
            {"source": "de", "target": "en"},
            "English (en) is not available as a target language from German (de)",
        ),
        ({"q": 5}, "Invalid request: q parameter is not a string"),
        ({"q": ["a", None]}, "Invalid request: q parameter is not a list of strings"),
    ],
)
def test_errors_have_the_texts_that_clients_compare(
    client: Client, fields: dict[str, Any], text: str
) -> None:
    answer = client.translate("ant", **fields) if "q" not in fields else client.translate(**fields)
    assert (answer.status, answer.json) == (400, {"error": text})


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'"q"', b"{", b'{"q": NaN}', b"[" * 5000, b'{"q":' * 20 + b"1" + b"}" * 20]
)
def test_what_is_no_json_object_is_refused(client: Client, body: bytes) -> None:
    answer = client.ask("POST", "/translate", body, content_type="application/json")
    assert (answer.status, answer.json) == (400, {"error": "Invalid JSON format"})


def test_codes_are_read_in_any_case(client: Client) -> None:
    assert client.translate("ant", source="EN", target="De").status == 200


def test_older_codes_stand_for_newer_ones(serve: Serve, toy_run: Any) -> None:
    client = serve(f"{toy_run}:zh:pt-BR")
    codes = {each["code"]: each["targets"] for each in client.get("/languages").json}
    assert codes == {"zh-Hans": ["pt-BR", "zh-Hans"], "pt-BR": ["pt-BR"]}
    for source, target in (("zh", "pb"), ("zh-Hans", "pt-BR"), ("ZH-HANS", "PT-BR")):
        assert client.translate("ant bee", source=source, target=target).status == 200


def test_unpaired_surrogates_and_nul_are_text(client: Client) -> None:
    answer = client.ask(
        "POST",
        "/translate",
        b'{"q": "\\ud800 \\u0000", "source": "en", "target": "de"}',
        content_type="application/json",
    )
    assert (answer.status, answer.json["translatedText"]) == (200, "\ufffd \ufffd")


def test_form_line_ends_are_counted_once(serve: Serve) -> None:
    client = serve(characters=4)
    assert client.form("/translate", q="a\r\nb\r", source="en", target="de").status == 200
    assert client.translate("a\r\nb\r").status == 400
