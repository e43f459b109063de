"""Fresh virtual environments, the distributions that go into them, and what they weigh."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

REPOSITORY = Path(__file__).resolve().parents[2]
FOREIGN = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")  # would make an environment see what lies outside it


def run(command: Sequence[str | Path], *, folder: Path | None = None, **environment: str) -> str:
    """Run a command and return what it printed; end this program with its output if it fails."""
    environ = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environ | environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(folder: Path) -> tuple[Path, Path]:
    """Build the source distribution and, from that one, the wheel; return both."""
    run([sys.executable, "-m", "build", "--outdir", folder, REPOSITORY])
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        """The folder of its packages."""
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found

    def count_megabytes(self) -> float:
        """Return what its packages take on the disk, compiled modules left out as `--no-compile` leaves them."""
        files = (path for path in self.site.rglob("*") if path.is_file() and path.suffix != ".pyc")
        return sum(path.stat().st_blocks * 512 for path in files) / 1e6


@contextmanager
def fresh_environment(python: str = sys.executable) -> Iterator[Environment]:
    """Make an environment without pip, which uv fills, and remove it afterwards."""
    with TemporaryDirectory(prefix="memory-core-env-") as folder:
        run([sys.executable, "-m", "uv", "venv", "--quiet", "--python", python, Path(folder, "env")])
        yield Environment(Path(folder, "env"))
