"""What happened in a run, as JSON lines that any tool can read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from regard.files import write_text


class Journal:
    """One record a line: {"event": ..., "step": ..., ...}."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, event: str, step: int, facts: Mapping[str, Any]) -> None:
        line = json.dumps({"event": event, "step": step, **facts}, ensure_ascii=False)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")

    def sync(self) -> None:
        if self.path.exists():
            with self.path.open("rb") as stream:
                os.fsync(stream.fileno())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """All records; a last line cut off by a kill is passed over."""
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8", errors="replace") as stream:
            for line in stream:
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                if isinstance(record, dict):
                    yield record

    def rewind(self, step: int) -> None:
        """Forget what came after a step, when training goes on from there."""
        kept = [record for record in self if record.get("step", 0) <= step]
        lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in kept]
        write_text(self.path, "".join(lines))
