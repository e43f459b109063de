"""`python -m tests.torture`: run the attacks, print one table and every distinct finding, exit 1 if there is any."""

from __future__ import annotations

import argparse
import sys
import time

from tests.torture.attack import KINDS
from tests.torture.crew import Report, run_attack
from tests.torture.worker import attack_named

NAMES = (
    "tools",
    "damage",
    "kills",
    "past",
    "postgres",
    "items",
    "people",
    "review",
    "mcp",
    "sync",
    "provider",
)  # the longest last, which gets what time the others leave
FULL_MINUTES = 45.0
SHOWN_CASES = 6


def main(words: list[str] | None = None) -> int:
    """Run and print; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description="Attack memory-core by the thousand.")
    parser.add_argument("--minutes", type=float, default=FULL_MINUTES, help="time for all; counts scale with it (45)")
    parser.add_argument("--seed", type=int, default=14, help="what all cases are made from (14)")
    parser.add_argument("--only", choices=NAMES, action="append", help="run this attack; may be given more than once")
    parser.add_argument("--cases", type=int, help="so many cases of each attack, instead of those for the minutes")
    parser.add_argument("--case", metavar="ATTACK:N", help="repeat one case, and what it needs before it")
    arguments = parser.parse_args(words)
    if arguments.case:
        return _repeat(arguments.case, arguments.seed)
    names = arguments.only or list(NAMES)
    print(f"seed {arguments.seed}, {arguments.minutes:g} minutes: {', '.join(names)}", flush=True)
    reports = _run_all(names, arguments.minutes, arguments.seed, arguments.cases)
    _print_table(reports)
    _print_findings(reports, arguments.seed)
    return 1 if any(report.findings for report in reports) else 0


def _run_all(names: list[str], minutes: float, seed: int, cases: int | None) -> list[Report]:
    until = time.monotonic() + minutes * 60
    reports = []
    for at, name in enumerate(names):
        kind = attack_named(name)
        count = cases or max(kind.group, round(kind.full * min(1.0, minutes / FULL_MINUTES)))
        share = kind.share / sum(attack_named(other).share for other in names[at:])
        reports.append(run_attack(name, range(count), seed=seed, seconds=(until - time.monotonic()) * share))
        print(f"{name}: {reports[-1].ran} cases in {reports[-1].seconds:.0f} s", flush=True)
    return reports


def _repeat(case: str, seed: int) -> int:
    name, _, number = case.partition(":")
    if name not in NAMES or not number.isdecimal():
        print(f"say ATTACK:N, where ATTACK is one of {', '.join(NAMES)}", file=sys.stderr)
        return 2
    last = int(number)
    first = last - last % attack_named(name).group
    report = run_attack(name, range(first, last + 1), seed=seed, seconds=3600, jobs=1)
    report.findings = {finding: [last] for finding, numbers in report.findings.items() if last in numbers}
    _print_findings([report], seed)
    print(dict(report.figures))
    return 1 if report.findings else 0


def _print_table(reports: list[Report]) -> None:
    print(f"\n{'attack':<10}{'cases':>8}{'planned':>9}{'seconds':>9}" + "".join(f"{kind:>8}" for kind in KINDS))
    for report in reports:
        counts = "".join(f"{report.count(kind):>8}" for kind in KINDS)
        print(f"{report.name:<10}{report.ran:>8}{report.planned:>9}{report.seconds:>9.0f}{counts}")
    for report in reports:
        print(f"{report.name}: " + ", ".join(f"{name} {count}" for name, count in sorted(report.figures.items())))


def _print_findings(reports: list[Report], seed: int) -> None:
    for report in reports:
        for kind, what, numbers, detail in report.classes():
            shown = ", ".join(map(str, numbers[:SHOWN_CASES])) + (", ..." if len(numbers) > SHOWN_CASES else "")
            print(f"\n{report.name}, {kind}, {len(numbers)} cases: {what}\n    seed {seed}, cases {shown}")
            print(f"    python -m tests.torture --seed {seed} --case {report.name}:{numbers[0]}")
            for line in detail.splitlines():
                print(f"    | {_printable(line[:400])}")


def _printable(line: str) -> str:
    """A line of an attack's making, fit for a terminal."""
    return "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in line)


if __name__ == "__main__":
    sys.exit(main())
