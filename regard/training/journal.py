"""What happened in a run, as JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional

from regard.files import write_text


class Journal:
    """One record per line: {"event": ..., "step": ..., ...}."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mirror: Optional[Callable[[Mapping[str, Any]], None]] = None  # is given each record

    def add(self, event: str, step: int, facts: Mapping[str, Any]) -> None:
        record = {"event": event, "step": step, **facts}
        line = json.dumps(record, ensure_ascii=False)
        size = self.path.stat().st_size if self.path.exists() else 0
        try:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")
        except OSError:
            with suppress(OSError):
                os.truncate(self.path, size)  # half a line would corrupt the next one
            raise
        if self.mirror is not None:
            self.mirror(record)

    def sync(self) -> None:
        if self.path.exists():
            with self.path.open("rb") as stream:
                os.fsync(stream.fileno())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """All records; a last line truncated by a crash is ignored."""
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8", errors="replace") as stream:
            for line in stream:
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(record, dict) and _is_record(record):
                    yield record

    def curves(self) -> dict[str, dict[str, list[tuple[float, float]]]]:
        """The loss and each validation score over steps: by quantity, then by the data it is of."""
        records = [record for record in self if isinstance(record.get("loss"), (int, float))]
        validations = [record for record in records if record["event"] == "validation"]
        names = [name for name in (validations or [{}])[0] if name not in ("event", "step", "loss")]
        train = [(each["step"], each["loss"]) for each in records if each["event"] == "train"]
        valid = [(each["step"], each["loss"]) for each in validations]
        return {
            "loss per token": {"training": train, "validation": valid},
            **{
                name: {
                    "validation": [
                        (each["step"], each[name])
                        for each in validations
                        if isinstance(each.get(name), (int, float))
                    ]
                }
                for name in names
            },
        }

    def rewind(self, step: int, validated: bool = True) -> None:
        """Remove what came after a step, when training resumes from it.

        If the step had not been `validated` when it was saved, a validation of it is removed too.
        """
        kept = [
            record
            for record in self
            if record["step"] < step
            or (record["step"] == step and (validated or record["event"] != "validation"))
        ]
        lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in kept]
        write_text(self.path, "".join(lines))


def _is_record(record: dict[str, Any]) -> bool:
    return isinstance(record.get("event"), str) and isinstance(record.get("step"), int)
