"""docs/terminal.svg: a terminal in which somebody begins with memory-core, drawn from what the commands print."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

from tests.command import SAMPLE

COLUMNS = 92
MOST_LINES = 8  # of an answer
SESSION = (
    "memory-core init ~/notes --default",
    'memory-core search "When is the marriage ceremony?" --max-results 1',
    'memory-core search "Which musical instrument am I learning?" --max-results 1',
    "memory-core install claude-code",
)
# In pixels: a character, a line, and the frame.
CHARACTER, LINE, MARGIN = 8.0, 18, 16
STYLES = {"1": 'font-weight="bold"', "1;33": 'font-weight="bold" fill="#e5c07b"'}
_CODE = re.compile(r"\x1b\[([\d;]*)m")


def record() -> list[str]:
    """Run the session in a home of its own, where the sample's notes come in after the first command; return the lines."""
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        for number, command in enumerate(SESSION):
            shown = _run(command, home)
            answer = shown.replace(str(home), "~").splitlines()
            lines += [
                f"\x1b[1m$ {command}\x1b[0m",
                *answer[:MOST_LINES],
                *(["    ..."] if answer[MOST_LINES:] else []),
                "",
            ]
            if number == 0:
                shutil.copytree(SAMPLE, home / "notes", dirs_exist_ok=True)
                _run("memory-core index", home)
    return lines[:-1]


def _run(command: str, home: Path) -> str:
    """Return what a command prints in a terminal, without the escapes at line ends."""
    import pty  # which Windows lacks; others import this module there

    main, terminal = pty.openpty()
    script = f'memory-core() {{ "$PYTHON" -m memory_core "$@"; }}; {command}'
    variables = {
        "HOME": str(home), "PYTHON": sys.executable, "COLUMNS": str(COLUMNS), "LINES": "60", "TERM": "xterm",
        "PATH": os.environ["PATH"], "MEMORY_CORE_PROVIDER": "static",
    }  # fmt: skip
    process = subprocess.Popen(
        ["bash", "-c", script],
        cwd=home,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=subprocess.DEVNULL,
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # Linux says so where all have closed the terminal
            break
        if not part:
            break
        shown += part
    os.close(main)
    if process.wait():
        raise RuntimeError(f"{command} ended with {process.returncode}: {shown.decode()}")
    return shown.decode().replace("\r\n", "\n")


def draw() -> str:
    """Return the picture."""
    lines = record()
    width, height = int(COLUMNS * CHARACTER + 2 * MARGIN), len(lines) * LINE + 2 * MARGIN
    texts = [
        f'<text x="{MARGIN}" y="{MARGIN + (number + 0.75) * LINE:g}" xml:space="preserve">{_draw_line(line)}</text>'
        for number, line in enumerate(lines)
        if line
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' role="img" aria-label="A terminal: init, two searches, install">',
            f'<rect width="{width}" height="{height}" rx="8" fill="#20242b"/>',
            '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13" fill="#d7dae0">',
            *texts,
            "</g>",
            "</svg>\n",
        ]
    )


def _draw_line(line: str) -> str:
    """Return the characters of a line, with those that are coloured in elements of their own."""
    parts = _CODE.split(line)
    drawn = [escape(parts[0], quote=False)]
    for code, text in zip(parts[1::2], parts[2::2], strict=True):
        style = STYLES.get(code)
        drawn.append(
            f"<tspan {style}>{escape(text, quote=False)}</tspan>" if style and text else escape(text, quote=False)
        )
    return "".join(drawn)
