"""`make test-hosts`: run the tests of each framework in an environment of its own, beside this repository's code.

python -m tests.frameworks.run FOLDER [NAME ...]
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.command import REPOSITORY
from tests.qmd.install import install_npm, npm_install

# The packages of each environment. Versions are not pinned: a new one that breaks a host should be heard of here.
ENVIRONMENTS = {
    "anthropic": ("anthropic",),
    "langchain": ("langchain", "langchain-openai"),
    "pydantic_ai": ("pydantic-ai-slim[openai]",),
    "responses": ("openai-agents",),
    "strands": ("strands-agents[openai]",),
    "adk": ("google-adk", "litellm", "mcp"),
    "agent_framework": ("agent-framework-core", "agent-framework-openai"),
    "llama_index": ("llama-index-core", "llama-index-llms-openai-like"),
    "hermes": ("hermes-agent",),
    "claude_code": ("claude-agent-sdk", "mcp>=2"),
    "codex": ("mcp>=2",),
    "opencode": ("mcp>=2",),
    "gemini": ("mcp>=2",),
    "openclaw": ("mcp>=2",),
    "copilot": ("mcp>=2",),
    "pi": ("mcp>=2",),
    "nanobot": ("nanobot-ai",),
    "fastmcp": ("fastmcp",),
    "inspector": ("mcp>=2",),
}
# The npm packages that an environment has besides.
NPM = {
    "codex": ("@openai/codex",),
    "opencode": ("opencode-ai",),
    "gemini": ("@google/gemini-cli",),
    "openclaw": ("openclaw",),
    "copilot": ("@github/copilot",),
    "pi": ("@earendil-works/pi-coding-agent",),
    "inspector": ("@modelcontextprotocol/inspector",),
}
NODE = ">=24.16,<25"  # OpenClaw asks for it; npm silently takes an older version of what does not run on its own Node
# Nothing of the environment that runs this may be seen in the others.
BARE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
THEIR_WARNINGS = ("--override-ini", "filterwarnings=default")  # are no errors of ours
TESTERS = ("hypothesis", "pytest", "pytest-benchmark", "pytest-timeout")


def make_environment(folder: Path, packages: Sequence[str]) -> Path:
    """Return the Python of an environment with these packages and ours; made anew when the list has changed."""
    python, mark = folder / "bin" / "python", folder / "packages"
    wanted = "\n".join((*packages, (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")))
    if not mark.exists() or mark.read_text(encoding="utf-8") != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True, env=BARE)
        install = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        subprocess.run([*install, "--editable", str(REPOSITORY), *packages, *TESTERS], check=True, env=BARE)
        mark.write_text(wanted, encoding="utf-8")
    return python


def install_npm_packages(prefix: Path, packages: Sequence[str]) -> Path:
    """Return the folder `node_modules` below a prefix with these packages; one that has them already is kept."""
    mark = prefix / "packages"
    if not mark.exists() or mark.read_text(encoding="utf-8") != "\n".join(packages):
        npm_install(install_npm(prefix.parent, NODE), prefix, packages)
        mark.write_text("\n".join(packages), encoding="utf-8")
    return prefix / "node_modules"


def find_tests(name: str) -> list[str]:
    """Return the test files of a framework: those with its name, and those of every host."""
    folder = Path(__file__).parent
    return [str(path) for path in (*sorted(folder.glob(f"test_*{name}.py")), folder / "test_process.py")]


def main(folder: str, *names: str) -> int:
    """Run the tests of the named frameworks, or of all; returns 0 if all passed."""
    failed = []
    for name in names or ENVIRONMENTS:
        print(f"== {name}: {', '.join(ENVIRONMENTS[name])}", flush=True)
        python = make_environment(Path(folder) / name, ENVIRONMENTS[name])
        variables = {**BARE, "TEST_HOSTS_PYTHON": sys.executable}
        if name in NPM:
            variables["TEST_HOSTS_NPM"] = str(install_npm_packages(Path(folder).resolve() / "npm" / name, NPM[name]))
        command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *THEIR_WARNINGS, *find_tests(name)]
        done = subprocess.run(command, check=False, cwd=REPOSITORY, env=variables)
        if done.returncode:
            failed.append(name)
    print("failed:" if failed else "all passed", *failed)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
