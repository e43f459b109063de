"""What can be shown of Python 3.14 where none is installed: that all we need has wheels for it, and that it runs our code.

The interpreter is CPython 3.14 as Pyodide compiles it for WebAssembly, from npm. It compiles every file, and runs the tests of
rooms that need no compiled package. It has no threads and no processes, so that the others need a real one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.packaging.environments import REPOSITORY, run

PYODIDE = "pyodide@314"
PLATFORM = "pyemscripten_2026_0_wasm32"
TOOLS = ("pytest", "hypothesis")
WANTED = ("", "mcp", "litellm")
SYSTEMS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-pc-windows-msvc")
TESTS = ("tests/unit/text", "tests/unit/ranking")
NEEDS_MORE = ("tests/unit/text/test_front_matter.py", "tests/unit/ranking/test_calibration.py")  # resource, numpy
NEEDS_STEMMER = "stems"

SCRIPT = """
import { loadPyodide } from "pyodide";
const python = await loadPyodide();
python.mountNodeFS("/repository", process.argv[2]);
python.mountNodeFS("/site", process.argv[3]);
python.globals.set("ARGUMENTS", process.argv.slice(4));
process.exitCode = python.runPython(`
import os, pathlib, sys, warnings
sys.dont_write_bytecode = True
sys.path[:0] = ["/repository", "/site"]
os.chdir("/repository")
os.environ["HOME"] = "/tmp"
files = [file for folder in ("memory_core", "memory_qmd", "tests") for file in pathlib.Path(folder).rglob("*.py")]
with warnings.catch_warnings(action="error"):
    for file in files:
        compile(file.read_bytes(), str(file), "exec")
print("Python", sys.version.split()[0], "compiles", len(files), "files", flush=True)
import pytest
int(pytest.main(ARGUMENTS.to_py()))
`);
"""


def resolve(wheel: Path) -> None:
    """Print how many packages an installation on 3.14 gets; ends this program if one of them has no wheel there."""
    for extra in WANTED:
        wanted = f"memory-core-py{f'[{extra}]' if extra else ''} @ {wheel.as_uri()}"
        for system in SYSTEMS:
            listed = wheel.with_name("wanted.in")
            listed.write_text(wanted, encoding="utf-8")
            command: list[str | Path] = [
                sys.executable,
                "-m",
                "uv",
                "pip",
                "compile",
                "-q",
                "--no-header",
                "--no-annotate",
                listed,
            ]
            rows = run([*command, "--python-version", "3.14", "--python-platform", system, "--only-binary", ":all:"])
            print(
                f"3.14, {system}, extra {extra or 'none'}: {len(rows.splitlines())} packages, all as wheels", flush=True
            )


def run_tests(cache: Path) -> None:
    """Compile all files with Pyodide's interpreter, and run with it what can run there."""
    site = cache / "site"
    if not site.exists():
        run(["npm", "install", "--no-audit", "--no-fund", "--prefix", cache, PYODIDE])
        target = ("--python-version", "3.14", "--platform", PLATFORM, "--only-binary", ":all:", "--target", site)
        run([sys.executable, "-m", "pip", "install", "-q", *target, *TOOLS])
    script = cache / "run.mjs"
    script.write_text(SCRIPT, encoding="utf-8")
    options = ["-q", "-c", "/dev/null", "--rootdir", "/repository", "-W", "error", "--import-mode=importlib"]
    options += ["-p", "no:cacheprovider", "-p", "no:faulthandler", *(f"--ignore={path}" for path in NEEDS_MORE)]
    options += ["-k", f"not {NEEDS_STEMMER}"]
    os.execvp("node", ["node", str(script), str(REPOSITORY), str(site), *options, *TESTS])


def main() -> None:
    """Resolve, compile and test."""
    from tempfile import TemporaryDirectory

    from tests.packaging.environments import build

    with TemporaryDirectory() as folder:
        resolve(build(Path(folder))[1])
    cache = Path(sys.argv[1]).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    run_tests(cache)


if __name__ == "__main__":
    main()
