"""Homes of other programs, laid out as those programs lay them out, with notes to be asked about."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

# The three questions of a home, each with words of its answer.
Questions = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Sample:
    """A home that a test makes.

    Attributes:
        source: As `Home.source`.
        make: Makes it below a home folder, and returns the path to adopt; None if it lies in a usual place.
        questions: Asked after it was adopted.
        is_markdown: It can be served where it lies.
        hidden: Words that must not be found.
    """

    source: str
    make: Callable[[Path], Path] | Callable[[Path], None]
    questions: Questions
    is_markdown: bool = True
    hidden: str = ""


def write(path: Path, text: str) -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def make_workspace(workspace: Path) -> None:
    """The notes that OpenClaw and its predecessors keep in a workspace."""
    write(workspace / "MEMORY.md", "# Memory\n\n- The allotment gate code is 4417.\n")
    write(workspace / "USER.md", "# About your human\n\n- Allergic to walnuts; carries an antihistamine.\n")
    write(workspace / "memory" / "2026-02-03.md", "# 2026-02-03\n\n- Booked the piano tuner for Thursday at nine.\n")
    write(workspace / "SOUL.md", "You are curious and brief.\n")


ABOUT_WORKSPACE = (
    ("What is the code of the allotment gate?", "4417"),
    ("Which nuts must be avoided?", "walnuts"),
    ("When does the piano tuner come?", "Thursday at nine"),
)


def make_openclaw(home: Path) -> None:
    state = home / ".openclaw"
    write(
        state / "openclaw.json",
        "// OpenClaw\n{ gateway: { port: 18789 }, agents: { list: [{ id: 'main', default: true }] } }\n",
    )
    make_workspace(state / "workspace")
    write(state / "agents" / "main" / "sessions" / "a1.jsonl", '{"type":"session"}\n')


def make_moltbot(home: Path) -> None:
    write(home / ".moltbot" / "moltbot.json", '{"agents": {"defaults": {"workspace": "~/.moltbot/workspace"}}}')
    make_workspace(home / ".moltbot" / "workspace")


def make_clawdbot(home: Path) -> None:
    """With an index of its own at `memory/main.sqlite`, and the workspace that is its default."""
    state = home / ".clawdbot"
    write(state / "clawdbot.json", '{"agents": {"defaults": {"model": {"primary": "anthropic/claude-opus-4-5"}}}}')
    write(state / "memory" / "main.sqlite", "SQLite format 3\0 somebody else's")
    make_workspace(home / "clawd")


def make_claude_code(home: Path) -> None:
    claude = home / ".claude"
    write(claude / "CLAUDE.md", "# Preferences\n\n- Commit messages are written in British spelling.\n")
    write(claude / "rules" / "testing.md", "# Testing\n\nNever mock the clock; pass a fake one.\n")
    write(claude / "settings.json", "{}")
    bakery = claude / "projects" / "-home-sam-src-bakery-api"
    write(bakery / "memory" / "MEMORY.md", "# Index\n\n- [deploy](deploy.md): the staging cluster is in Oslo\n")
    write(bakery / "memory" / "deploy.md", "# Deploy\n\nThe staging cluster of the bakery runs in Oslo.\n")
    write(bakery / "0b1c.jsonl", '{"type":"user","cwd":"/home/sam/src/bakery-api","message":{}}\n')
    kiln = claude / "projects" / "-home-sam-src-kiln"
    write(kiln / "memory" / "MEMORY.md", "# Kiln\n\n- The thermocouple needs an offset of 3.5 degrees.\n")


def make_hermes(home: Path) -> None:
    memories = home / ".hermes" / "memories"
    write(home / ".hermes" / "config.yaml", "model: {provider: custom}\n")
    write(memories / "MEMORY.md", "The NAS answers at 10.0.0.7\nover SSH only.\n§\nThe printer needs A5 paper.")
    write(memories / "USER.md", "Prefers metric units.\n§\nPlays the oboe in an orchestra.")


def make_obsidian(home: Path) -> Path:
    vault = home / "Garden Vault"
    write(vault / ".obsidian" / "app.json", "{}")
    write(vault / ".obsidian" / "plugins" / "tasks" / "README.md", "The plugin counts dragonflies.\n")
    write(vault / ".trash" / "old.md", "The old dragonflies list.\n")
    write(
        vault / "Beds" / "Tomatoes.md",
        "---\naliases: [love apples]\ntags: [garden]\n---\n# Tomatoes\n\nGrown from [[Seeds|heirloom seeds]] of Brandywine.\n\n"
        "%%the secret dragonflies\ncode word%%\n\nWatered by drip line at 6 am.\n",
    )
    write(vault / "Seeds.md", "# Seeds\n\nBought from a nursery in Ghent in 2025.\n")
    return vault


def make_basic_memory(home: Path) -> None:
    project = home / "knowledge"
    write(home / ".basic-memory" / "config.json", json.dumps({"projects": {"main": str(project)}}))
    front = "---\ntitle: {0}\ntype: note\npermalink: {1}\ntags: [coffee]\n---\n# {0}\n\n"
    write(
        project / "Coffee Brewing.md",
        front.format("Coffee Brewing", "coffee-brewing")
        + "## Observations\n- [technique] Water at 94 degrees extracts best #brewing\n"
        "- [preference] Oat milk, never soy (mornings)\n\n## Relations\n- requires [[Grinder]]\n",
    )
    write(
        project / "gear" / "Grinder.md",
        front.format("Grinder", "gear/grinder") + "## Observations\n- [setting] The burrs stand at notch eighteen\n",
    )


def make_mem0(home: Path) -> Path:
    rows = [
        {"id": "1", "memory": "Allotment soil is clay.", "user_id": "kim", "created_at": "2026-01-05T09:30:00-08:00"},
        {
            "id": "2",
            "memory": "Takes the 07:42 train to Leuven.",
            "user_id": "kim",
            "created_at": "2026-02-11T08:00:00Z",
        },
        {
            "id": "3",
            "memory": "Learns Basque with a tutor\non Mondays.",
            "agent_id": "coach",
            "updated_at": "2026-03-01",
        },
    ]
    return write(home / "mem0-export.json", json.dumps({"count": 3, "results": rows}))


def make_folder(home: Path) -> Path:
    folder = home / "notes"
    write(folder / "boiler.md", "The boiler loses pressure every October.\n")
    write(folder / "travel" / "ferry.md", "# Ferry\n\nThe ferry to Hull leaves at 19:30.\n")
    write(folder / "node_modules" / "left-pad" / "README.md", "pads\n")
    write(folder / "recipes.md", "# Soup\n\nTwo parsnips and a pear.\n")
    return folder


SAMPLES = (
    Sample("openclaw", make_openclaw, ABOUT_WORKSPACE),
    Sample("moltbot", make_moltbot, ABOUT_WORKSPACE),
    Sample("clawdbot", make_clawdbot, ABOUT_WORKSPACE),
    Sample(
        "claude-code",
        make_claude_code,
        (
            ("Which spelling do commit messages use?", "British"),
            ("Where does the bakery's staging cluster run?", "Oslo"),
            ("What offset does the thermocouple need?", "3.5 degrees"),
        ),
    ),
    Sample(
        "hermes",
        make_hermes,
        (
            ("What is the address of the NAS?", "10.0.0.7"),
            ("Which paper does the printer need?", "A5"),
            ("Which instrument is played in the orchestra?", "oboe"),
        ),
    ),
    Sample(
        "obsidian",
        make_obsidian,
        (
            ("love apples", "Brandywine"),
            ("Where were the seeds bought?", "Ghent"),
            ("When does the drip line water?", "6 am"),
        ),
        hidden="dragonflies",
    ),
    Sample(
        "basic-memory",
        make_basic_memory,
        (
            ("How hot should the water be?", "94 degrees"),
            ("Which milk in the morning?", "Oat milk"),
            ("At which notch do the burrs stand?", "eighteen"),
        ),
    ),
    Sample(
        "mem0",
        make_mem0,
        (
            ("What kind of soil has the allotment?", "2026-01-05: Allotment soil is clay."),
            ("Which train goes to Leuven?", "07:42"),
            ("Which language is learnt with a tutor?", "2026-03-01: Learns Basque with a tutor on Mondays."),
        ),
        is_markdown=False,
    ),
    Sample(
        "folder",
        make_folder,
        (
            ("What happens to the boiler in October?", "loses pressure"),
            ("When does the ferry leave?", "19:30"),
            ("What goes into the soup?", "parsnips"),
        ),
    ),
)
