"""Files that are listed, read or refused: the same ones by the same rules, and none from outside."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.config.agent import AgentConfig, NamedFolder
from memory_core.config.settings import Exclude, ExtraPath, SearchSettings, Source
from memory_core.errors import FileUnreadable, PathRefused
from memory_core.records import FileStamp, MemoryFile
from memory_core.sources import files, notes, pages, refusals
from memory_core.sources.files import list_files
from memory_core.sources.notes import find_note_date, find_note_day, read_note
from memory_core.sources.pages import resolve


def configured(
    workspace: Path,
    *extra: str | ExtraPath,
    sources: tuple[Source, ...] = ("memory",),
    exclude: tuple[str, ...] | None = None,
) -> AgentConfig:
    state = workspace.parent / "state"
    extra_paths = tuple(path if isinstance(path, ExtraPath) else ExtraPath(path=path) for path in extra)
    search = SearchSettings(
        sources=sources, extra_paths=extra_paths, exclude=Exclude() if exclude is None else Exclude(files=exclude)
    )
    return AgentConfig(
        agent="main", workspace=workspace, state_dir=state, store_path=state / "main.sqlite", search=search
    )


def write(root: Path, *paths: str) -> None:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {path}\n", encoding="utf-8")


def listed(config: AgentConfig) -> list[tuple[str, str]]:
    return [(file.source, file.path) for file in list_files(config).files]


def failures(config: AgentConfig) -> dict[str, str]:
    return {failure.path: failure.reason for failure in list_files(config).failures}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "clawd"
    folder.mkdir()
    return folder


def test_memory_is_the_long_term_file_and_the_notes_folder(root: Path) -> None:
    write(root, "MEMORY.md", "memory/2026-01-12.md", "memory/a/b/c.md", "memory/node_modules/own.md")
    write(
        root, "memory/.hidden.md", "memory/.git/x.md", "memory/picture.png", "memory/UPPER.MD", "notes.md", "AGENTS.md"
    )
    assert listed(configured(root)) == [
        ("memory", "MEMORY.md"),
        ("memory", "memory/2026-01-12.md"),
        ("memory", "memory/UPPER.MD"),
        ("memory", "memory/a/b/c.md"),
        ("memory", "memory/node_modules/own.md"),
    ]


def test_a_file_is_listed_as_it_is(root: Path) -> None:
    write(root, "memory/a.md")
    (file,) = list_files(configured(root)).files
    info = (root / "memory/a.md").stat()
    assert file == MemoryFile(
        source="memory",
        path="memory/a.md",
        real_path=root.resolve() / "memory/a.md",
        stamp=FileStamp(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino),
    )


def test_a_missing_workspace_is_empty(tmp_path: Path) -> None:
    config = configured(tmp_path / "nowhere")
    assert list_files(config) == files.Listing((), ())
    assert resolve(config, "MEMORY.md") is None
    assert resolve(config, "memory/x.md") is None


def test_the_lower_case_name_is_another_file_only_where_it_is_one(root: Path) -> None:
    write(root, "memory.md")
    config = configured(root)
    assert listed(config) == [("memory", "memory.md")]
    write(root, "MEMORY.md")
    assert listed(config) == [("memory", "MEMORY.md"), ("memory", "memory.md")]
    (root / "memory.md").unlink()
    os.link(root / "MEMORY.md", root / "memory.md")  # as a file system looks that ignores case
    assert listed(config) == [("memory", "MEMORY.md")]
    found = resolve(config, "memory.md")
    assert found is not None
    assert found.path == "MEMORY.md"


def test_the_name_in_capitals_is_a_file_of_its_own_likewise(root: Path) -> None:
    write(root, "MEMORY.MD")
    assert listed(configured(root)) == [("memory", "MEMORY.MD")]
    os.link(root / "MEMORY.MD", root / "memory.md")
    assert listed(configured(root)) == [("memory", "memory.md")]


def test_a_glob_excludes_a_path_in_either_unicode_form(root: Path) -> None:
    composed, decomposed = "Götter", normalize("NFD", "Götter")
    for at, (folder, asked) in enumerate([(composed, decomposed), (decomposed, composed)]):
        write(root.parent, f"vault{at}/{folder}/a.md", f"vault{at}/b.md")
        extra = ExtraPath(path=f"../vault{at}", exclude=(f"{asked}/**",))
        config = replace(configured(root), search=SearchSettings(sources=(), extra_paths=(extra,)))
        assert listed(config) == [("memory", f"../vault{at}/b.md")]


def test_the_workspace_source_is_the_rest(root: Path) -> None:
    write(root, "MEMORY.md", "memory/a.md", "notes.md", "docs/deep/b.md", "docs/Memory.md", "docs/memory/c.md")
    write(root, "AGENTS.md", "docs/USER.md", ".hidden/x.md", ".x.md", "node_modules/p/README.md", "docs/venv/y.md")
    config = configured(root, sources=("memory", "workspace"))
    assert listed(config) == [
        ("memory", "MEMORY.md"),
        ("memory", "memory/a.md"),
        ("workspace", "docs/Memory.md"),
        ("workspace", "docs/deep/b.md"),
        ("workspace", "docs/memory/c.md"),
        ("workspace", "notes.md"),
    ]
    alone = configured(root, sources=("workspace",), exclude=("notes.md", "docs/Memory.md"))
    assert [path for _, path in listed(alone)] == ["AGENTS.md", "docs/USER.md", "docs/deep/b.md", "docs/memory/c.md"]


def test_extra_paths_are_shown_as_they_are_spelt(root: Path, home: Path) -> None:
    write(root.parent, "team-docs/a/b.md", "team-docs/.git/x.md", "team-docs/node_modules/x.md", "abs/c.md", "one.md")
    write(home, "notes/d.md")
    write(root, "docs/e.md")
    config = configured(root, "../team-docs/", str(root.parent / "abs"), "~/notes", "./docs", "../one.md")
    paths = ["../one.md", "../team-docs/a/b.md", "./docs/e.md", f"{root.parent}/abs/c.md", "~/notes/d.md"]
    assert listed(config) == [("memory", path) for path in sorted(paths)]
    assert list_files(config).failures == ()
    for path in paths:
        found = resolve(config, path)
        assert found is not None
        assert found.path == path


def test_extra_paths_are_listed_whatever_the_sources(root: Path) -> None:
    write(root.parent, "docs/a.md")
    write(root, "MEMORY.md")
    assert listed(configured(root, "../docs", sources=("sessions",))) == [("memory", "../docs/a.md")]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("**/*.md", ["a.md", "log/2026.md", "log/deep/b.md"]),
        ("*.md", ["a.md"]),
        ("log/**", ["log/2026.md", "log/deep/b.md"]),
        ("log/*.md", ["log/2026.md"]),
        ("**/{a,b}.md", ["a.md", "log/deep/b.md"]),
        ("**/[!a-z]*.md", ["log/2026.md"]),
        ("./?.md", ["a.md"]),
        ("**/*", ["a.md", "log/2026.md", "log/deep/b.md"]),
        ("*.txt", []),
        ("a+.md", []),
    ],
)
def test_the_pattern_of_an_extra_path(root: Path, pattern: str, expected: list[str]) -> None:
    write(root.parent, "docs/a.md", "docs/log/2026.md", "docs/log/deep/b.md", "docs/c.txt")
    config = configured(root, ExtraPath(path="../docs", pattern=pattern))
    assert [path for _, path in listed(config)] == [f"../docs/{path}" for path in expected]


@pytest.mark.parametrize("pattern", ["{a.md", "[z-a].md", "a.md}"])
def test_a_pattern_that_is_no_glob_is_a_failure(root: Path, pattern: str) -> None:
    write(root.parent, "docs/a.md")
    config = configured(root, ExtraPath(path="../docs", pattern=pattern))
    assert listed(config) == []
    assert failures(config) == {"../docs": f"has a pattern that is no glob: {pattern}"}


def test_each_file_is_listed_once(root: Path) -> None:
    write(root, "MEMORY.md", "memory/a.md", "notes.md")
    everything = configured(root, ".", "memory", "notes.md", "../clawd", sources=("memory", "workspace"))
    assert listed(everything) == [("memory", "MEMORY.md"), ("memory", "memory/a.md"), ("workspace", "notes.md")]
    assert listed(configured(root, "memory/a.md", "../clawd/memory")) == [
        ("memory", "MEMORY.md"),
        ("memory", "memory/a.md"),
    ]


def test_a_folder_that_a_backend_adds_has_a_name_of_its_own(root: Path) -> None:
    write(root, "memory/a.md", "docs/d.md")
    write(root.parent, "team/t.md", "team/.hidden/h.md", "team/n.txt", "secret.md")
    (root.parent / "team" / "link.md").symlink_to(root.parent / "secret.md")
    folders = (
        NamedFolder(path=root.parent / "team", shown="far/team/"),
        NamedFolder(path=root.parent / "gone", shown="far/gone/"),
        NamedFolder(path=root, shown="", source="sessions"),
    )
    config = replace(configured(root, "."), folders=folders)  # the extra path covers where the folder seems to be
    assert listed(config) == [("memory", "./docs/d.md"), ("memory", "far/team/t.md"), ("memory", "memory/a.md")]
    assert failures(config) == {"far/team/link.md": "is a symbolic link, which memory ignores"}
    for file in list_files(config).files:
        assert resolve(config, file.path) == file
    assert resolve(config, "far/team/gone.md") is None
    for path in (
        "far/team/link.md",
        "far/team/.hidden/h.md",
        "far/team/n.txt",
        "far/team/../../../secret.md",
        "far/team",
    ):
        with pytest.raises(PathRefused):
            resolve(config, path)
    assert listed(replace(config, search=SearchSettings(sources=()), folders=folders[2:])) == [
        ("sessions", "docs/d.md"),
        ("sessions", "memory/a.md"),
    ]


def test_extra_paths_that_cannot_be_used_are_failures(root: Path) -> None:
    write(root.parent, "secret/x.md")
    (root.parent / "plain.txt").write_text("x")
    (root.parent / "link").symlink_to(root.parent / "secret")
    (root / "inner").symlink_to(root.parent)
    os.mkfifo(root.parent / "pipe.md")
    config = configured(root, "../gone", "../plain.txt", "../link", "inner/secret", "../pipe.md")
    assert listed(config) == []
    assert failures(config) == {
        "../gone": "no such file or directory",
        "../plain.txt": "is not Markdown (.md)",
        "../link": "is a symbolic link, which memory ignores",
        "inner/secret": "is a symbolic link, which memory ignores",
        "../pipe.md": "is no regular file",
    }
    for path in ("../plain.txt", "../link/x.md", "inner/secret/x.md", "../pipe.md", "../secret/x.md"):
        with pytest.raises(PathRefused):
            resolve(config, path)
    assert resolve(config, "../gone/x.md") is None


@pytest.mark.parametrize(
    ("exclude", "kept"),
    [
        (["drafts/**"], ["a.md", "b.md", "deep/drafts/d.md"]),
        (["drafts"], ["a.md", "b.md", "deep/drafts/d.md"]),
        (["**/drafts/**", "b.md"], ["a.md"]),
        (["**/*.md"], []),
        (["[ab].md", "deep/*"], ["drafts/c.md"]),
    ],
)
def test_an_extra_path_leaves_out_what_it_excludes(root: Path, exclude: list[str], kept: list[str]) -> None:
    write(root.parent, "vault/a.md", "vault/b.md", "vault/drafts/c.md", "vault/deep/drafts/d.md")
    extra = ExtraPath(path="../vault", exclude=tuple(exclude))
    config = replace(configured(root), search=SearchSettings(sources=(), extra_paths=(extra,)))
    assert listed(config) == [("memory", f"../vault/{name}") for name in kept]
    left_out = {"a.md", "b.md", "drafts/c.md", "deep/drafts/d.md"} - {*kept}
    for name in left_out:
        with pytest.raises(PathRefused, match="excluded by the configuration"):
            resolve(config, f"../vault/{name}")


def exclude_in(vault: Path, *places: str) -> None:
    (vault / ".obsidian").mkdir(parents=True, exist_ok=True)
    (vault / ".obsidian" / "app.json").write_text(json.dumps({"userIgnoreFilters": places}))


def test_every_folder_heeds_the_vaults_in_it_and_around_it(root: Path) -> None:
    write(
        root, "a.md", "Private/b.md", "memory/c.md", "memory/Private/d.md", "deep/vault/e.md", "deep/vault/Secret/f.md"
    )
    write(root, "Secret/g.md", "MEMORY.md")
    write(
        root.parent, "out/h.md", "out/deep/vault/i.md", "out/deep/vault/Private/j.md", "out/Private/k.md", "Diary/l.md"
    )
    exclude_in(root.parent, "Diary/", "clawd/Private/", "clawd/memory/Private/")
    exclude_in(root / "deep" / "vault", "Secret/")
    exclude_in(root.parent / "out" / "deep" / "vault", "Private/")
    config = configured(root, "../out", "../Diary", "../Diary/l.md", sources=("memory", "workspace"))
    assert {path for _, path in listed(config)} == {
        "a.md", "memory/c.md", "deep/vault/e.md", "Secret/g.md", "MEMORY.md", "../out/h.md", "../out/deep/vault/i.md",
        "../out/Private/k.md",
    }  # fmt: skip
    assert failures(config) == {"../Diary": refusals.HIDDEN, "../Diary/l.md": refusals.HIDDEN}
    for path in ("Private/b.md", "memory/Private/d.md", "deep/vault/Secret/f.md", "../out/deep/vault/Private/j.md"):
        with pytest.raises(PathRefused, match="left out by Obsidian"):
            resolve(config, path)


def test_what_is_the_agents_own_is_not_left_out_as_a_whole_by_a_vault_around_it(root: Path) -> None:
    write(root, "MEMORY.md", "memory/a.md", "notes/b.md", "memory/Private/c.md")
    exclude_in(root.parent, "clawd/")
    exclude_in(root, "memory/", "MEMORY.md", "memory/Private/")
    assert {path for _, path in listed(configured(root, "notes"))} == {"MEMORY.md", "memory/a.md", "notes/b.md"}


def test_a_vault_whose_settings_cannot_be_read_is_left_out_and_named(root: Path) -> None:
    write(root, "a.md", "vault/b.md")
    exclude_in(root / "vault")
    (root / "vault/.obsidian/app.json").write_text('{"userIgnoreF')
    config = configured(root, sources=("workspace",))
    assert listed(config) == [("workspace", "a.md")]
    assert "app.json is no JSON" in failures(config)["vault"]
    with pytest.raises(PathRefused, match="settings that cannot be used"):
        resolve(config, "vault/b.md")


def test_a_note_of_a_vault_in_a_folder_is_read_as_one_of_a_vault(root: Path) -> None:
    write(root, "a.md", "vault/b.md")
    exclude_in(root / "vault")
    config = configured(root, sources=("workspace",))
    assert {file.path: file.in_vault for file in list_files(config).files} == {"a.md": False, "vault/b.md": True}


def test_an_extra_path_may_lead_through_links_above_it(root: Path) -> None:
    write(root.parent, "real/docs/a.md")
    (root.parent / "link").symlink_to(root.parent / "real")
    config = configured(root, "../link/docs")
    (file,) = list_files(config).files
    assert (file.path, file.real_path) == ("../link/docs/a.md", root.parent.resolve() / "real/docs/a.md")
    assert resolve(config, "../link/docs/a.md") == file
    assert resolve(config, str(root.parent / "real/docs/a.md")) == file


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="this system cannot open folder by folder")
def test_a_folder_that_is_a_link_for_an_instant_is_not_followed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root.parent / "outside").mkdir()
    for folder, text in ((root.parent / "outside", "secret"), (root / "memory/topics", "ours")):
        folder.mkdir(exist_ok=True, parents=True)
        (folder / "a.md").write_text(text, encoding="utf-8")
    real = root.resolve() / "memory/topics/a.md"
    file = MemoryFile(source="memory", path="memory/topics/a.md", real_path=real, stamp=FileStamp(0, 0))
    assert read_note(file).text == "ours"
    open_really, kept = os.open, root / "memory/kept"

    def swap(*arguments: Any, **named: Any) -> int:
        (root / "memory/topics").rename(kept)
        (root / "memory/topics").symlink_to(root.parent / "outside")
        try:
            return open_really(*arguments, **named)
        finally:
            (root / "memory/topics").unlink()
            kept.rename(root / "memory/topics")

    monkeypatch.setattr(os, "open", swap)
    with pytest.raises(FileUnreadable):
        read_note(file)


def test_symlinks_are_named_and_not_followed(root: Path) -> None:
    write(root.parent, "outside/secret.md")
    write(root, "memory/a.md", "notes.md")
    (root / "memory/file.md").symlink_to(root.parent / "outside/secret.md")
    (root / "memory/folder").symlink_to(root.parent / "outside")
    (root / "memory/loop").symlink_to(root / "memory")
    (root / "memory/self.md").symlink_to(root / "memory/self.md")
    (root / "memory/dangling.md").symlink_to(root / "gone.md")
    (root / "MEMORY.md").symlink_to(root / "notes.md")
    for name in ("picture.png", ".hidden.md", ".hidden"):  # of no concern
        (root / "memory" / name).symlink_to(root.parent / "outside")
    (root / "memory/picture.png").unlink()
    (root / "memory/picture.png").symlink_to(root / "notes.md")
    config = configured(root)
    assert listed(config) == [("memory", "memory/a.md")]
    names = ("MEMORY.md", *(f"memory/{name}" for name in ("dangling.md", "file.md", "folder", "loop", "self.md")))
    assert failures(config) == dict.fromkeys(names, "is a symbolic link, which memory ignores")
    for path in ("file.md", "folder/secret.md", "loop/a.md", "self.md", "dangling.md", "../MEMORY.md"):
        with pytest.raises(PathRefused, match="symbolic link"):
            resolve(config, f"memory/{path}")


def test_a_notes_folder_that_is_a_link_is_reported(root: Path) -> None:
    write(root.parent, "synced/a.md")
    (root / "memory").symlink_to(root.parent / "synced")
    config = configured(root, sources=("memory", "workspace"))
    assert listed(config) == []
    assert failures(config) == {"memory": "is a symbolic link, which memory ignores"}
    with pytest.raises(PathRefused, match="symbolic link"):
        resolve(config, "memory/a.md")


def test_a_workspace_may_be_a_link_itself(root: Path) -> None:
    write(root, "memory/a.md")
    link = root.parent / "link"
    link.symlink_to(root)
    config = configured(link)
    (file,) = list_files(config).files
    assert file.real_path == root.resolve() / "memory/a.md"
    for path in ("memory/a.md", str(link / "memory/a.md"), str(root / "memory/a.md")):
        assert resolve(config, path) == file


@pytest.mark.parametrize(
    "path",
    [
        "memory/a.md",
        "./memory/a.md",
        "memory//a.md",
        "memory\\a.md",
        ".\\memory\\a.md",
        "memory/./a.md",
        "memory/../memory/a.md",
        "memory/sub/../a.md",
        "../clawd/memory/a.md",
        "{workspace}/memory/a.md",
        "{workspace}/../clawd/memory/a.md",
    ],
)
def test_spellings_of_one_path(root: Path, path: str) -> None:
    write(root, "memory/a.md")
    found = resolve(configured(root), path.format(workspace=root))
    assert found is not None
    assert found.path == "memory/a.md"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("  ", "empty"),
        (".", "is not in this agent's memory"),
        ("memory", "is a folder"),
        ("memory/sub.md", "is a folder"),
        ("notes.md", "is not in this agent's memory"),
        ("Memory.md", "is not in this agent's memory"),
        ("memory/../notes.md", "is not in this agent's memory"),
        ("memory/../../outside.md", "is not in this agent's memory"),
        ("../../../../../../etc/passwd", "is not in this agent's memory"),
        ("/etc/passwd", "is not in this agent's memory"),
        ("~/secret.md", "is not in this agent's memory"),
        ("~root/secret.md", "is not in this agent's memory"),
        ("..\\outside.md", "is not in this agent's memory"),
        ("file:///etc/passwd", "is not in this agent's memory"),
        ("memory/a.txt", "is not Markdown"),
        ("memory/a.mdtext", "is not Markdown"),
        ("memory/a.md#L3", "is not Markdown"),
        ("memory/.a.md", "is hidden"),
        ("memory/.git/a.md", "is in a hidden folder"),
        ("memory/pipe.md", "is no regular file"),
        ("memory/a\0.md", "control characters"),
        ("memory/a\n.md", "control characters"),
        ("memory/\ud800.md", "control characters"),
        ("memory/" + "x" * 253 + ".md", "too long"),
        ("memory/" + "x/" * 3000 + "a.md", "too long"),
        ("memory/~/a.md", "has a name"),
    ],
)
def test_everything_else_is_refused(root: Path, path: str, reason: str) -> None:
    write(root, "notes.md", "AGENTS.md", "memory/a.txt", "memory/.a.md", "memory/.git/a.md")
    write(root.parent, "outside.md")
    (root / "memory/sub.md").mkdir(parents=True)
    os.mkfifo(root / "memory/pipe.md")
    with pytest.raises(PathRefused, match=reason):
        resolve(configured(root), path)


def test_exclusions_hold_for_reading_too(root: Path) -> None:
    write(root, "AGENTS.md", "docs/USER.md", "node_modules/a/README.md", "docs/a.md")
    config = configured(root, sources=("memory", "workspace"))
    for path, reason in {
        "AGENTS.md": "excluded",
        "docs/USER.md": "excluded",
        "node_modules/a/README.md": "installed packages",
    }.items():
        with pytest.raises(PathRefused, match=reason):
            resolve(config, path)
    assert resolve(config, "docs/gone.md") is None
    assert resolve(config, "docs/a.md/x.md") is None


def test_names_that_would_break_citations_are_failures(root: Path) -> None:
    write(root, "memory/good.md", "memory/back\\slash.md", "memory/new\nline.md", "memory/tab\there/a.md")
    (root / os.fsdecode(b"memory/latin-\xe9.md")).write_text("x")
    config = configured(root)
    assert listed(config) == [("memory", "memory/good.md")]
    assert sorted(failures(config)) == [
        "memory/back�slash.md",
        "memory/latin-�.md",
        "memory/new�line.md",
        "memory/tab�here",
    ]


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Permissions mean nothing to root: be nobody for a while."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_root() -> Iterator[Path]:
    """A workspace that any user can reach."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder).resolve() / "clawd"
        path.mkdir()
        yield path


def test_what_is_not_permitted_is_a_failure_and_the_rest_goes_on(open_root: Path) -> None:
    write(open_root, "memory/a.md", "memory/closed/b.md", "memory/secret.md", "memory/seen/c.md")
    (open_root / "memory/closed").chmod(0)
    (open_root / "memory/secret.md").chmod(0)
    (open_root / "memory/seen").chmod(0o444)  # names, but no more
    config = configured(open_root)
    with ordinary_user():
        listing = list_files(config)
        assert [file.path for file in listing.files] == ["memory/a.md", "memory/secret.md"]
        assert [(failure.path, failure.reason) for failure in listing.failures] == [
            ("memory/closed", "permission denied"),
            ("memory/seen/c.md", "permission denied"),
        ]
        with pytest.raises(PathRefused, match="permission denied"):
            resolve(config, "memory/closed/b.md")
        with pytest.raises(FileUnreadable, match="permission denied"):
            read_note(listing.files[1])
    for folder in ("closed", "seen"):
        (open_root / "memory" / folder).chmod(0o755)


names = st.sampled_from(
    [
        "MEMORY.md",
        "memory.md",
        "memory",
        "a.md",
        "b.txt",
        ".h.md",
        ".git",
        "sub",
        "AGENTS.md",
        "node_modules",
        "docs",
        "~",
        "é.md",
    ]
)
tree_paths = st.lists(names, min_size=1, max_size=4).map("/".join)
asked_paths = st.lists(
    st.one_of(names, st.sampled_from(["..", ".", "", "clawd", "outside", "link", "secret.md", "\\", "..\\.."])),
    max_size=6,
).map("/".join)


@given(
    st.lists(tree_paths, max_size=12),
    st.lists(tree_paths, max_size=3),
    st.lists(asked_paths, max_size=20),
    st.sampled_from([("memory",), ("memory", "workspace"), ("workspace",)]),
    st.lists(st.sampled_from(["../outside", "docs", ".", "memory/sub", "../outside/a.md", "a.md", "link"]), max_size=3),
)
def test_what_resolves_is_what_is_listed(
    made: list[str], linked: list[str], asked: list[str], sources: tuple[Source, ...], extra: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder).resolve()
        root = top / "clawd"
        write(top, "outside/a.md", "outside/secret.md", "outside/sub/a.md", "secret.md")
        write(root, "seed.txt")
        for path in made:
            make(root / path)
        for path in linked:
            link(root / path, top / "outside")
        config = configured(root, *extra, sources=sources)
        by_path = {file.path: file for file in list_files(config).files}
        assert len({file.real_path for file in by_path.values()}) == len(by_path)
        for path, file in by_path.items():
            assert resolve(config, path) == file
            assert file.real_path.resolve() == file.real_path
        for path in [*asked, *made, *(f"{link}/a.md" for link in linked)]:
            for spelling in (path, f"{root}/{path}"):
                assert_only_listed(config, spelling, by_path)


def assert_only_listed(config: AgentConfig, path: str, by_path: dict[str, MemoryFile]) -> None:
    try:
        found = resolve(config, path)
    except PathRefused:
        return
    assert found is None or by_path[found.path] == found


def make(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    except OSError:
        return  # one of the drawn paths stands in the way of another


def link(path: Path, target: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    except OSError:
        return  # as above


def note(root: Path, data: bytes, name: str = "memory/a.md") -> MemoryFile:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    found = resolve(configured(root), name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("data", "text", "replaced"),
    [
        (b"", "", False),
        (b"one\r\ntwo\n", "one\ntwo\n", False),
        (b"\xef\xbb\xbfmarked", "marked", False),
        ("一\u2028二\x0c三\n".encode(), "一\u2028二\x0c三\n", False),
        (b"caf\xe9 here", "café here", True),
        ("– café\r\n".encode("cp1252") + "naïve\n".encode(), "– café\nnaïve\n", True),
        (b"never in \x81 use", "never in \N{REPLACEMENT CHARACTER} use", True),
    ],
)
def test_reading(root: Path, data: bytes, text: str, replaced: bool) -> None:
    file = note(root, data)
    read = read_note(file)
    assert (read.text, read.replaced) == (text, replaced)
    assert read.hash == blake2b(data, digest_size=16).digest()
    assert read.stamp == file.stamp
    assert file.stamp.size_bytes == len(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PNG\0\x01", "is binary, or UTF-16: it holds NUL bytes"),
        ("text".encode("utf-16"), "is UTF-16: save it as UTF-8"),
        (
            b"x" * (notes.MAX_NOTE_BYTES + 1),
            "is too large: 10,485,761 bytes, and notes are read up to 10,485,760; split it, or exclude it",
        ),
    ],
    ids=["binary", "utf-16", "too large"],
)
def test_what_is_no_note(root: Path, data: bytes, reason: str) -> None:
    with pytest.raises(FileUnreadable) as caught:
        read_note(note(root, data))
    assert (caught.value.path, caught.value.reason) == ("memory/a.md", reason)


def test_the_largest_note_is_read(root: Path) -> None:
    assert len(read_note(note(root, b"x" * notes.MAX_NOTE_BYTES)).text) == notes.MAX_NOTE_BYTES


def test_what_took_the_place_of_a_note_is_not_read(root: Path) -> None:
    file = note(root, b"text")
    path = root / "memory/a.md"
    path.unlink()
    assert_unreadable(file, "no such file or directory")
    path.mkdir()
    assert_unreadable(file, "is a folder")
    path.rmdir()
    os.mkfifo(path)
    assert_unreadable(file, "is no regular file")  # and is not waited for
    path.unlink()
    write(root.parent, "outside/a.md")
    path.symlink_to(root.parent / "outside/a.md")
    assert_unreadable(file, "is a symbolic link")
    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to(root.parent / "outside")
    assert_unreadable(file, "is a symbolic link")


def assert_unreadable(file: MemoryFile, reason: str) -> None:
    with pytest.raises(FileUnreadable, match=reason):
        read_note(file)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("memory/2026-01-12.md", "", "2026-01-12"),
        ("memory/standup-2026-01-12-notes.md", "# 2025-01-01", "2026-01-12"),
        ("memory/2026-02-30.md", "", None),
        ("memory/2026-02-30.md", "# Log 2026-03-01", "2026-03-01"),
        ("memory/12026-01-12.md", "", None),
        ("2026-01-12/notes.md", "", "2026-01-12"),
        ("2026-01-12/notes.md", "# 2026-01-13", "2026-01-13"),
        ("2025-12-01 trip/2026-01-12/notes.md", "", "2026-01-12"),
        ("memory/2026/01/12/standup.md", "---\ndate: 2026-01-13\n---\n", "2026-01-12"),
        ("memory/2026/January/12.md", "", "2026-01-12"),
        ("memory/2026/2026-01 Januar/Mo 12.md", "", "2026-01-12"),
        ("memory/2026/01_January/12_Monday.md", "", "2026-01-12"),
        ("memory/2026/01/12 ways to cook.md", "", "2026-01-01"),
        ("memory/2026/Projects/12.md", "", None),
        ("MEMORY.md", "# Memory\n\n## Since 2026-01-12\n\n## 2026-02-01", "2026-01-12"),
        ("MEMORY.md", "2026-01-12 is no heading", None),
        ("MEMORY.md", "```\n# 2026-01-12\n```\n# 2026-01-13", "2026-01-13"),
        ("MEMORY.md", "# ٢٠٢٦-٠١-١٢", None),
        ("memory/2026-01.md", "", "2026-01-01"),
        ("memory/2026-01.md", "# Log\n\n## 2026-01-12", "2026-01-12"),
        ("memory/January 2026.md", "", "2026-01-01"),
        ("memory/styczeń 2026.md", "", "2026-01-01"),
        ("memory/2026年01月.md", "", "2026-01-01"),
        ("memory/2026/01/standup.md", "", "2026-01-01"),
        ("memory/2026-Q2.md", "", "2026-04-01"),
        ("memory/okr_2026Q2_draft.md", "", "2026-04-01"),
        ("memory/Q2-2026.md", "", "2026-04-01"),
        ("memory/2026/Q2/hiring.md", "", "2026-04-01"),
        ("memory/2026/Quarter 2.md", "", "2026-04-01"),
        ("memory/2. Quartal 2026.md", "", "2026-04-01"),
        ("memory/2026-T2.md", "", "2026-04-01"),
        ("memory/2026-H2.md", "", "2026-07-01"),
        ("memory/2026H2_okr.md", "", "2026-07-01"),
        ("memory/2. Halbjahr 2026.md", "", "2026-07-01"),
        ("memory/2026/S1/plan.md", "", "2026-01-01"),
        ("memory/3Q26.md", "", "2026-07-01"),
        ("memory/Q2/2026-05-03.md", "", "2026-05-03"),
        ("memory/Q2.md", "", None),
        ("memory/2026-Q5.md", "", None),
        ("memory/2026/Januar/standup.md", "", "2026-01-01"),
        ("memory/2026.01/12.md", "", "2026-01-12"),
        ("memory/12 januari 2026.md", "", "2026-01-12"),
        ("memory/12. tammikuuta 2026.md", "", "2026-01-12"),
        ("memory/12 stycznia 2026.md", "", "2026-01-12"),
        ("memory/2026년 1월 12일.md", "", "2026-01-12"),
        ("memory/2026-KW03.md", "", "2026-01-12"),
        ("memory/2026.md", "", None),
        ("memory/2026/ideas.md", "", None),
        ("a.md", "# Mandag 12. januar 2026\n", "2026-01-12"),
        ("a.md", "# Log\n\n## Monday, 12 January 2026\n", "2026-01-12"),
        ("a.md", "# People\n\n## Wedding, 12 January 2026\n", None),  # a fact of it
        ("a.md", "# 2026年1月12日\n", "2026-01-12"),
        ("a.md", "# Room 2026\n\n## 3 of 12\n", None),
        ("a.md", "---\nDatum: 12. Januar 2026\n---\n", "2026-01-12"),
        ("a.md", "---\ndate: 2026-01\n---\n", "2026-01-01"),
        ("a.md", "# Sync\n\n**Date:** January 12, 2026\n", "2026-01-12"),
        ("a.md", "created:: 2026-01-12\n\nText.\n", "2026-01-12"),
        ("a.md", "We set a date: 12 January 2026\n", None),
        ("MEMORY.md", "", None),
    ],
)
def test_the_date_of_a_note(path: str, text: str, expected: str | None) -> None:
    assert find_note_date(path, text) == expected


def test_a_note_without_a_date_is_of_the_day_it_was_last_changed() -> None:
    noon = int(datetime(2025, 7, 14, 12).astimezone().timestamp() * 1e9)
    note = MemoryFile(source="memory", path="a.md", real_path=Path("/a.md"), stamp=FileStamp(0, noon))
    assert find_note_day(note, "") == date(2025, 7, 14)
    assert find_note_day(note, "# 2026-01-13") == date(2026, 1, 13)
    evening = replace(note, stamp=FileStamp(0, int(datetime(2025, 7, 14, 20, tzinfo=UTC).timestamp() * 1e9)))
    assert [find_note_day(evening, "", zone).day for zone in ("Asia/Tokyo", "America/New_York")] == [15, 14]


_PARTS = (
    "memory", "docs", "a.md", "b.md", "MEMORY.md", "USER.md", "sub", "node_modules", ".hidden", "..", ".", "~", "", "notes",
    "a\\b.md", "a\x01.md", "\ud800.md", "\u202e.md", "A" * 260 + ".md", "\u00e9" * 127 + ".md",
)  # fmt: skip


@given(
    path=st.lists(st.sampled_from(_PARTS), min_size=1, max_size=4).map("/".join),
    extra=st.sampled_from(["", "docs", "../outside", "~/notes", "docs/../memory/sub", "a.md"]),
    everything=st.booleans(),
)
def test_a_path_is_unserved_exactly_if_it_is_refused(path: str, extra: str, everything: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sources: tuple[Source, ...] = ("memory", "workspace") if everything else ("memory",)
        config = configured(Path(folder).resolve() / "clawd", *filter(None, [extra]), sources=sources)
        for spelt in (path, f"memory/{path}", f"{extra}/{path}", f"{config.workspace}/{path}"):
            refused = pages.find_unserved(config, [spelt])
            reason = None
            try:
                resolve(config, spelt)
            except PathRefused as error:
                reason = error.reason
            assert refused.get(spelt) == reason
