"""SIGTERM, SIGHUP and Ctrl-C as a request to save and stop."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional

REPEAT_SECONDS = 1
"""`timeout` and others send a signal to the process and to its group: two signals this close
together are one."""


STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, the request to end, and a terminal that was closed."""


class StopSignals:
    """Remembers the first signal, for training to stop after its step; a second one stops at once,
    with the exit code that a shell gives to a process ended by it.

    `number` is the signal that was received, None if there was none.
    """

    def __init__(self) -> None:
        self.number: Optional[int] = None
        self._received: Optional[float] = None  # when the first signal came to this process

    def request(self) -> None:
        """Stop as if SIGTERM had been received, because another process received a signal.

        It may be on its way to this process too, from a scheduler that ends one machine after
        another, and must not count as a second one when it arrives.
        """
        if self.number is None:
            self.number = signal.SIGTERM

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle the signals inside this block; nohup's wish to ignore SIGHUP is respected."""
        try:
            previous = {
                number: signal.signal(number, self._handle)
                for number in STOP_SIGNALS
                if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
            }
        except ValueError:  # not the main thread, where alone signals can be handled
            previous = {}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: Any) -> None:
        now = time.monotonic()
        if self._received is None:
            self._received = now
            self.number = self.number or number
        elif now - self._received > REPEAT_SECONDS:
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
