"""What the server measures about itself, for Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest


class Waits(Protocol):
    """Something with a queue."""

    @property
    def waiting(self) -> int: ...


class Meters:
    """Counts requests by path and status, how long they take, and how full batches are."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.duration = Histogram(
            "regard_request_seconds",
            "Time from the last header to the end of the response.",
            ["path", "status"],
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "regard_requests_in_flight", "Requests being answered.", registry=self.registry
        )
        self.batches = Histogram(
            "regard_batch_rows",
            "Sentences computed together.",
            buckets=(1, 2, 4, 8, 16, 32, 64),
            registry=self.registry,
        )
        self.characters = Counter(
            "regard_characters", "Characters translated.", registry=self.registry
        )

    def watch_queues(self, queues: Sequence[Waits]) -> None:
        """Report how many characters wait in all queues together."""
        gauge = Gauge("regard_queue_characters", "Characters that wait.", registry=self.registry)
        gauge.set_function(lambda: float(sum(queue.waiting for queue in queues)))

    def text(self) -> bytes:
        return generate_latest(self.registry)
