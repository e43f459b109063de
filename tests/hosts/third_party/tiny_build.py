"""Builds the wheel of this package and no other, so that installing it needs no network; see PEP 517 and PEP 427."""

from __future__ import annotations

import tomllib
import zipfile
from pathlib import Path


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: str | None = None) -> str:
    """Write the wheel; its name."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    info = f"{stem}.dist-info"
    files = {path.as_posix(): path.read_text(encoding="utf-8") for path in Path("memory_scan").glob("*.py")}
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        + "".join(f"Requires-Dist: {each}\n" for each in project["dependencies"])
    )
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: tiny_build\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/entry_points.txt"] = "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
        for group, points in project["entry-points"].items()
    )
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
    return name
