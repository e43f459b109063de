"""The version and the distribution's name, alone in a module so that the build can read it without importing anything."""

__version__ = "0.1.0"
DISTRIBUTION = "memory-core-py"


def explain_install(extra: str) -> str:
    """Return the commands that install an extra, one sentence; pipx leaves out the extras that it is not told again."""
    wanted, all_of_it = f'"{DISTRIBUTION}[{extra}]"', f'"{DISTRIBUTION}[{",".join(dict.fromkeys(("mcp", extra)))}]"'
    return (
        f"Install it: pip install {wanted} (or pipx install --force {all_of_it}, or uvx --from {wanted} memory-core)."
    )
