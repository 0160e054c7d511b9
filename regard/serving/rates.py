"""How much each client may ask per minute, and the keys that allow more."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple, Optional

from regard.errors import UsageError
from regard.serving.refusal import RefusedError

WINDOW = 60.0
MOST_CLIENTS = 10_000
"""Clients remembered; the one that was silent longest is forgotten first."""

REREAD = 1.0
"""Seconds before the file of keys is looked at again."""


@dataclass
class _Spent:
    """When a client asked within the last minute, and for how many texts. The total is kept beside
    them: adding them up for each request would take ever longer the more come."""

    times: deque[tuple[float, int]] = field(default_factory=deque)
    total: int = 0

    def forget(self, before: float) -> None:
        while self.times and self.times[0][0] <= before:
            self.total -= self.times.popleft()[1]

    def add(self, now: float, cost: int) -> None:
        self.times.append((now, cost))
        self.total += cost


class Rates:
    """A moving window of a minute for each client."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._clients: OrderedDict[str, _Spent] = OrderedDict()

    def spend(self, client: str, cost: int, most: int) -> None:
        """Count some texts, or refuse them if the client has had enough for this minute."""
        now = self._clock()
        spent = self._clients.setdefault(client, _Spent())
        self._clients.move_to_end(client)
        spent.forget(now - WINDOW)
        if spent.total + cost > most:
            times = spent.times
            wait = int(WINDOW - (now - times[0][0])) + 1 if times else int(WINDOW)
            raise RefusedError(HTTPStatus.TOO_MANY_REQUESTS, f"Slowdown: {most} per 1 minute", wait)
        spent.add(now, cost)
        if len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)


class Allowance(NamedTuple):
    """What a key allows; None: as without a key."""

    requests: Optional[int] = None  # texts per minute
    characters: Optional[int] = None  # per text


class Keys:
    """A file of keys, one per line: KEY [REQUESTS_PER_MINUTE [CHARACTERS]]. Changes are seen while
    the server runs."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_at = time.monotonic()
        self._changed_at = path.stat().st_mtime_ns if path.is_file() else 0
        self._keys = _read_keys(path)

    def find(self, key: str) -> Allowance:
        self._refresh()
        found = self._keys.get(_digest(key))
        if found is None:
            raise RefusedError(HTTPStatus.FORBIDDEN, "Invalid API key")
        return found

    def _refresh(self) -> None:
        """Read the file again if it has changed; a broken one leaves the keys as they were."""
        if time.monotonic() - self._read_at < REREAD:
            return
        self._read_at = time.monotonic()
        try:
            changed_at = self._path.stat().st_mtime_ns
            if changed_at != self._changed_at:
                self._keys, self._changed_at = _read_keys(self._path), changed_at
        except (OSError, UsageError):
            return


def _read_keys(path: Path) -> dict[bytes, Allowance]:
    if not path.is_file():
        raise UsageError(f"{path} does not exist: give a file with one key per line.")
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        key, *numbers = line.split() or [""]
        if not key or key.startswith("#"):
            continue
        if len(numbers) > 2 or not all(each.isdecimal() and int(each) > 0 for each in numbers):
            raise UsageError(
                f"{path}:{number}: write a key, its texts per minute and its characters per text."
            )
        found[_digest(key)] = Allowance(*map(int, numbers))
    return found


def _digest(key: str) -> bytes:
    """Keys are compared by their hashes, which takes as long for a good guess as for a bad one."""
    return hashlib.sha256(key.encode("utf-8", errors="replace")).digest()
