"""python -m faults.table FOLDER: the reports in a folder as the table of docs/reliability.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main() -> int:
    reports = [json.loads(path.read_bytes()) for path in sorted(Path(sys.argv[1]).glob("*.json"))]
    print("| campaign | attempts | outcome | failures | minutes of one core |")
    print("|---|---:|---|---:|---:|")
    for report in reports:
        counts = [f"{n:,} {name}" for name, n in report["counts"].items() if ":" not in name]
        counts += [f"{n:,} skipped ({why})" for why, n in report["skipped"].items()]
        row = [
            f"`{report['campaign']}`",
            f"{report['executed']:,} of {report['attempts']:,}",
            "; ".join(counts),
            str(len(report["failures"])),
            f"{report['processor_seconds'] / 60:.1f}",
        ]
        print(f"| {' | '.join(row)} |")
    total = sum(report["processor_seconds"] for report in reports) / 60
    print(f"\nSeeds {_all(reports, 'seed')}; {_all(reports, 'date')}; {total:.1f} minutes in all.")
    return 0


def _all(reports: list[dict[str, Any]], name: str) -> str:
    return ", ".join(sorted({str(report[name]) for report in reports}))


if __name__ == "__main__":
    sys.exit(main())
