"""Build what is published, install it as a stranger does, and use it outside the repository.

The wheel is built from the source distribution. Each environment is made anew; what is measured is printed as a table.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.packaging.environments import REPOSITORY, Environment, build, fresh_environment, run

SAMPLE = REPOSITORY / "tests" / "data" / "sample"
QUESTION = "Which musical instrument am I learning?"
ANSWER = "classical guitar"
LIMITS = {"": (200, 50), "mcp": (230, 70)}  # megabytes and packages


def install(environment: Environment, wheel: Path, extra: str) -> None:
    """Install the wheel with an extra from wheels alone, since a stranger may have no compiler."""
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    run([*run_pip_in(environment), "install", "-q", "--only-binary", ":all:", wanted])


def run_pip_in(environment: Environment) -> list[str | Path]:
    """Return the beginning of a command of our pip, with its settings and certificates, on an environment that has none."""
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", environment.python]


def ask(environment: Environment, folder: Path) -> float:
    """Ask the demo's question outside the repository, where nothing but the installed package can answer; return the seconds."""
    command: list[str | Path] = [environment.folder / "bin" / "memory-core", "search", QUESTION, "--workspace", SAMPLE]
    begun = time.monotonic()
    found = run(command, folder=folder, HOME=str(folder), MEMORY_CORE_PROVIDER="static")
    if ANSWER not in found:
        sys.exit(f"the search did not find {ANSWER!r}:\n{found}")
    return time.monotonic() - begun


def measure(python: str, extra: str, wheel: Path) -> str:
    """Return a table row for one environment."""
    with fresh_environment(python) as environment, TemporaryDirectory() as elsewhere:
        install(environment, wheel, extra)
        run([*run_pip_in(environment), "check"])
        listed = run([*run_pip_in(environment), "list", "--format", "freeze"])
        packages, size = len(listed.split()), environment.count_megabytes()
        version = run([environment.python, "-c", "import platform; print(platform.python_version())"]).strip()
        first, second = ask(environment, Path(elsewhere)), ask(environment, Path(elsewhere))
        begun = time.monotonic()
        run([environment.python, "-c", "import memory_core"])
        imported = time.monotonic() - begun
    most_megabytes, most_packages = LIMITS[extra]
    if size > most_megabytes or packages > most_packages:
        sys.exit(f"too large with extra {extra or 'none'}: {size:.0f} MB, {packages} packages")
    return f"| {version} | {extra or 'none'} | {packages} | {size:.0f} | {imported:.2f} | {first:.1f} | {second:.1f} |"


def main() -> None:
    """Build, check and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", help="interpreters to install into; the running one by default")
    parser.add_argument("--extra", action="append", help="extras to install besides none", default=[])
    options = parser.parse_args()
    with TemporaryDirectory(prefix="memory-core-dist-") as folder:
        sdist, wheel = build(Path(folder))
        print(run([sys.executable, "-m", "twine", "--no-color", "check", "--strict", sdist, wheel]), end="")
        print("| Python | extra | packages | MB | import, s | first search, s | second search, s |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for python in options.python or [sys.executable]:
            for extra in ("", *options.extra):
                print(measure(python, extra, wheel), flush=True)


if __name__ == "__main__":
    main()
