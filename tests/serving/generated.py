"""Requests that schemathesis generates from the description of the API, valid and invalid ones."""

from __future__ import annotations

from collections import Counter
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.generation import GenerationMode

BUSY = (503, 504)
"""The only failures of a server that are not a mistake of ours."""


def send_generated(address: str, examples: int, number: int = 0) -> Counter[int]:
    """Send so many requests to each route in each mode, which follow from a number; how often each
    status was answered. Every status must be one that the description names for the route."""
    schema = schemathesis.openapi.from_url(f"{address}/spec")
    found = Counter[int]()
    for result in schema.get_all_operations():
        operation = result.ok()
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            _send(operation, mode, examples, number, found)
    return found


def _send(
    operation: Any, mode: GenerationMode, examples: int, number: int, found: Counter[int]
) -> None:
    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        answer = case.call(timeout=60)
        found[answer.status_code] += 1
        assert answer.status_code < 500 or answer.status_code in BUSY, case.as_curl_command()
        allowed = {*operation.definition.raw["responses"], "404", "405"}
        assert str(answer.status_code) in allowed, (answer.status_code, case.as_curl_command())
        kind = answer.headers.get("content-type", [""])[0]
        if answer.status_code >= 400 and answer.status_code not in (404, 405) and "json" in kind:
            body = answer.json()
            assert list(body) in (["error"], ["status"]), body

    try:
        send()
    except Exception as error:
        if type(error).__name__ != "Unsatisfiable":  # nothing about this route can be wrong
            raise
