"""Install this package beside the frameworks that it serves: none of their packages may change, and none may miss what it needs.

Each framework is resolved alone and together with the wheel; then both are installed, and the environment is checked. With
`--resolve-only` nothing is installed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.packaging.environments import build, fresh_environment, run

FRAMEWORKS = (
    "langchain",
    "openai-agents",
    "pydantic-ai",
    "nanobot-ai",
    "hermes-agent",
    "google-adk",
    "llama-index-core",
    "strands-agents",
    "agent-framework-core",
    "crewai",
)
UV = (sys.executable, "-m", "uv", "pip")


def resolve(*wanted: str, python: str, folder: Path) -> dict[str, str]:
    """Return the version of every package that a fresh installation would get, by its name."""
    listed = folder / "wanted.in"
    listed.write_text("\n".join(wanted), encoding="utf-8")
    command: list[str | Path] = [
        *UV,
        "compile",
        "-q",
        "--no-header",
        "--no-annotate",
        "--python-version",
        python,
        listed,
    ]
    rows = run(command).splitlines()
    return {name: version for name, _, version in (row.partition(";")[0].partition("==") for row in rows) if version}


def check(framework: str, wheel: Path, python: str, *, installs: bool) -> str:
    """Return a table row for one framework."""
    ours = f"memory-core-py @ {wheel.as_uri()}"
    with TemporaryDirectory() as folder:
        alone = resolve(framework, python=python, folder=Path(folder))
        both = resolve(f"{framework}=={alone[framework]}", ours, python=python, folder=Path(folder))
    changed = [f"{name} {alone[name]} to {both.get(name, 'none')}" for name in alone if alone[name] != both.get(name)]
    outcome = "not installed"
    if installs:
        with fresh_environment(python) as environment:
            pinned = [f"{name}=={version}" for name, version in alone.items()]
            run([*UV, "install", "-q", "--python", environment.python, *pinned])
            run([*UV, "install", "-q", "--python", environment.python, wheel])
            run([*UV, "check", "--python", environment.python])
            rows = run([*UV, "list", "--python", environment.python, "--format", "freeze"]).splitlines()
            kept = dict(row.split("==") for row in rows if "==" in row)
            changed += [f"{name} changed on installation" for name in alone if kept.get(name) != alone[name]]
            outcome = "clean"
    version = alone[framework]
    return f"| {framework} | {version} | {len(alone)} | {len(both) - len(alone)} | {'; '.join(changed) or 'none'} | {outcome} |"


def main() -> None:
    """Check all frameworks, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("framework", nargs="*", help="frameworks to check; all by default")
    parser.add_argument("--python", default=f"{sys.version_info.major}.{sys.version_info.minor}")
    parser.add_argument("--resolve-only", action="store_true", help="install nothing")
    options = parser.parse_args()
    failed = False
    with TemporaryDirectory(prefix="memory-core-dist-") as folder:
        _, wheel = build(Path(folder))
        print("| framework | version | its packages | added | changed | pip check |")
        print("| --- | --- | --- | --- | --- | --- |")
        for framework in options.framework or FRAMEWORKS:
            row = check(framework, wheel, options.python, installs=not options.resolve_only)
            failed |= "| none |" not in row
            print(row, flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
