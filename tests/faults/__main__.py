"""python -m faults [CAMPAIGN ...]: run campaigns, print their counts and write their reports."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from faults.campaign import FULL, QUICK, Report, run_campaign
from faults.registry import CAMPAIGNS


def main() -> int:
    given = _arguments()
    reports = list[Report]()
    for name in given.campaigns or CAMPAIGNS:
        found = run_campaign(CAMPAIGNS[name], given.form, given.seed, given.jobs, given.only)
        reports.append(found)
        if not given.only:
            found.write(given.output)
        print(found.sentence(), flush=True)
        for failure in found.failures:
            print(f"\nFAILED: {failure['repeat']}\n{failure['what']}", flush=True)
        for missed in found.missed:
            print(f"NOT DONE: {missed}", flush=True)
    seconds = sum(report.seconds for report in reports)
    verdict = "passed" if all(report.passed for report in reports) else "FAILED"
    used = sum(report.processor_seconds for report in reports)
    print(
        f"{len(reports)} campaigns {verdict} in {seconds / 60:.1f} minutes "
        f"({used / 60:.1f} of processor time)."
    )
    return 0 if verdict == "passed" else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", help=", ".join(CAMPAIGNS))
    parser.add_argument("--form", choices=(QUICK, FULL), default=FULL)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="*", default=[], help="numbers of attempts")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--output", type=Path, default=Path("../build/faults"))
    given = parser.parse_args()
    if unknown := set(given.campaigns) - set(CAMPAIGNS):
        parser.error(f"no campaign is called {', '.join(sorted(unknown))}")
    return given


if __name__ == "__main__":
    sys.exit(main())
