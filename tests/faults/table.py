"""python -m faults.table FOLDER: the reports in a folder as the table of docs/reliability.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> int:
    print("| campaign | attempts | what came of them | failures | minutes | seed | run |")
    print("|---|---|---|---|---|---|---|")
    for path in sorted(Path(sys.argv[1]).glob("*.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        counts = [f"{n:,} {name}" for name, n in report["counts"].items() if ":" not in name]
        counts += [f"{n:,} skipped ({why})" for why, n in report["skipped"].items()]
        row = [
            report["campaign"],
            f"{report['executed']:,} of {report['attempts']:,}",
            "; ".join(counts),
            str(len(report["failures"])),
            f"{report['seconds'] / 60:.1f}",
            str(report["seed"]),
            report["date"],
        ]
        print(f"| {' | '.join(row)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
