"""The version and the distribution's name, alone in a module so that the build can read it without importing anything."""

__version__ = "0.1.0"
DISTRIBUTION = "memory-core-py"


def explain_install(extra: str) -> str:
    """Return the commands that install an extra, one sentence; pipx leaves out the extras that it is not told again."""
    wanted, origin = f"{DISTRIBUTION}[{extra}]", _find_origin()
    all_of_it = f"{DISTRIBUTION}[{','.join(dict.fromkeys(('mcp', extra)))}]{origin}"
    return (
        f'Install it: pip install "{wanted}" '
        f'(or pipx install --force "{all_of_it}", or uvx --from "{wanted}{origin}" memory-core).'
    )


def _find_origin() -> str:
    """Return " @ URL" of the clone, wheel or repository that this was installed from; "" if that was a registry."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")  # PEP 610
    except PackageNotFoundError:
        return ""
    version_control = found.get("vcs_info", {}).get("vcs")
    return " @ " + (f"{version_control}+" if version_control else "") + found["url"] if found else ""
