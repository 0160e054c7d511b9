"""The description of the API, and a few hundred requests generated from it."""

from __future__ import annotations

import pytest
from clients import Client, Serve
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


@pytest.mark.timeout(120)
def test_generated_requests_find_no_fault(serve: Serve) -> None:
    found = send_generated(serve(deadline=10).address, EXAMPLES)
    assert found.total() > 100
    assert found[200] > 10
    assert found[400] > 10
