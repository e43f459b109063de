"""Projects: the folder in which work goes on, its repository and worktrees, what the project's own file says, and its layers.

A session of a project that nobody named sees layers: the project's notes, the person's, and folders that the configuration adds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from memory_core.config.agent import LOCAL, PERSON, AgentConfig, Project, make_workspace_key
from memory_core.config.documents import read_file
from memory_core.config.environment import expand_home
from memory_core.errors import ConfigError, ConfigProblem

OF_REPOSITORY = ".repository"  # in a private folder of a project, with the path of its repository
PROJECT_FILE = ".memory-core.toml"
OWN_HOME = "~/.memory-core"  # of the notes that memory-core makes for a person and for projects
_SETTINGS = ("private", "write")  # in the table `memory` of the project's file


def find_project(folder: Path, home: str) -> Path | None:
    """Return the folder with the notes of the project in which a folder lies; None if there is none.

    That is the folder itself or the nearest one above, up to the root of the repository, below the home folder, and of the
    same owner. From a submodule the way leads on to the repository around it. The main worktree of a repository goes before
    the others, so that all of them share its notes.
    """
    for place in _walk_up(folder, home):
        main = _find_main(place)
        if main is not None and _have_one_owner(folder, main) and _is_project(main):
            return main
        if _is_project(place):
            return place
    return folder if is_workspace(folder) else None


def is_workspace(folder: Path) -> bool:
    """Return True for a folder with MEMORY.md, or with a folder memory/ that holds Markdown, or nothing but hidden files.

    A folder memory/ of code is none.
    """
    daily = folder / "memory"
    try:
        if os.path.lexists(folder / "MEMORY.md"):
            return True
        return all(each.name.startswith(".") for each in daily.iterdir()) or any(daily.rglob("*.md"))
    except PermissionError:  # whoever reads it says so
        return True
    except OSError:
        return False


def find_repository(folder: Path, home: str) -> Path | None:
    """Return the main worktree of the repository in which a folder lies, as far as `find_project` would go; None outside one."""
    places = [*_walk_up(folder, home)]
    if not places or not (places[-1] / ".git").exists():
        return None
    main = _find_main(places[-1])
    return main if main is not None and _have_one_owner(folder, main) else places[-1]


def _walk_up(folder: Path, home: str) -> Iterator[Path]:
    """Yield a folder and those above it of the same owner, up to the root of its repository, and below the home folder."""
    home = os.path.realpath(home) if home else ""
    for place in (folder, *folder.parents):
        if str(place) == home or not _have_one_owner(folder, place):
            return
        yield place
        if (place / ".git").exists() and not _is_submodule(place):
            return


def _have_one_owner(one: Path, other: Path) -> bool:
    try:
        return one.stat().st_uid == other.stat().st_uid
    except OSError:  # gone, or it may not be entered
        return False


def _is_project(folder: Path) -> bool:
    return (folder / PROJECT_FILE).is_file() or is_workspace(folder)


def _find_git_dir(root: Path) -> Path | None:
    """Return the folder to which the file `.git` of a worktree or a submodule leads; None where it is no file."""
    try:
        kept = (root / ".git").read_text(encoding="utf-8").removeprefix("gitdir:").strip()
    except (OSError, UnicodeDecodeError):  # a folder: the main worktree itself
        return None
    return Path(os.path.realpath(root / kept))


def _is_submodule(root: Path) -> bool:
    kept_in = _find_git_dir(root)
    return kept_in is not None and kept_in.parent.name != "worktrees" and "modules" in kept_in.parts


def _find_main(root: Path) -> Path | None:
    """Return the main worktree of the repository of another one; None for any other folder.

    Of a bare repository that a file `.git` beside it names, it is the folder of that file.
    What git keeps of a worktree names that, so that no file leads to somebody else's repository.
    """
    kept_in = _find_git_dir(root)
    if kept_in is None or kept_in.parent.name != "worktrees":
        return None
    try:
        back = (kept_in / "gitdir").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    whole = kept_in.parent.parent
    is_ours = os.path.realpath(kept_in / back) == os.path.realpath(root / ".git")
    is_main = whole.name == ".git" or _find_git_dir(whole.parent) == whole
    return whole.parent if is_main and is_ours else None


def read_project(folder: Path, repository: Path | None) -> Project:
    """Return what the file of a project says, which lies beside its notes or at the root of its repository.

    Raises:
        ConfigError: The file cannot be read, or holds what it must not.
    """
    place = next((each for each in (folder, repository) if each and (each / PROJECT_FILE).is_file()), None)
    if place is None:
        return Project(folder=folder, repository=repository)
    path = place / PROJECT_FILE
    given = read_file(path)
    memory = given.get("memory", {})
    wrong = [key for key in given if key != "memory" or not isinstance(memory, dict)]
    if isinstance(memory, dict):
        wrong += [f"memory.{key}" for key in memory if key not in _SETTINGS or not isinstance(memory[key], bool)]
    if wrong:
        known = "expected the table [memory] with private and write, each true or false"
        raise ConfigError([ConfigProblem(key, known) for key in wrong], origin=str(path))
    private, writes = memory.get("private", False), memory.get("write")
    return Project(folder=folder, repository=repository, private=private, writes=writes)


def find_private_folder(repository: Path, environ: Mapping[str, str]) -> Path:
    """Return the folder for facts of a repository whose own notes are not written; it need not exist."""
    return _find_private_folders(environ) / f"{repository.name}-{make_workspace_key(repository)}"


def list_own_folders(environ: Mapping[str, str]) -> list[Path]:
    """Return the folders that may hold notes of a person and private ones of projects."""
    try:
        private = _find_private_folders(environ)
    except ConfigError:  # this user has no home folder
        return []
    return [private.parent / PERSON, *sorted(private.glob("*"))]


def list_left_behind(environ: Mapping[str, str]) -> Iterator[tuple[Path, Path]]:
    """Yield the private folders whose repository is not where it was when they were written, and where that was."""
    for folder in list_own_folders(environ):
        with suppress(OSError, ValueError):  # nobody has written there yet, or it is no path
            if not (folder / OF_REPOSITORY).is_file():
                continue
            repository = Path((folder / OF_REPOSITORY).read_text(encoding="utf-8").strip())
            # The user may have given the folder another name, which is that of another repository.
            if not os.path.lexists(repository) and find_private_folder(repository, environ).name == folder.name:
                yield folder, repository


def is_private_folder(folder: Path, environ: Mapping[str, str]) -> bool:
    """Return True for a folder that `find_private_folder` returns for some repository."""
    return os.path.realpath(folder.parent) == os.path.realpath(_find_private_folders(environ))


def _find_private_folders(environ: Mapping[str, str]) -> Path:
    return Path(expand_home(OWN_HOME, environ), "projects")


def list_layers(
    config: AgentConfig, named: Mapping[str, Path | None], environ: Mapping[str, str]
) -> Iterator[AgentConfig]:
    """Yield the configurations of the layers beside a workspace; their folders need not exist.

    Args:
        config: Of the workspace.
        named: The folders that the configuration names; None leaves a layer out.
        environ: The environment.
    """
    folders: dict[str, Path | None] = {}
    if config.project is not None:
        try:
            folders[PERSON] = Path(expand_home(OWN_HOME, environ), PERSON)
            if config.project.repository is not None:
                folders[LOCAL] = find_private_folder(config.project.repository, environ)
        except ConfigError:  # this user has no home folder
            folders = {}
    own = make_workspace_key(config.workspace)
    for name, folder in {**folders, **named}.items():
        if folder is not None and (key := make_workspace_key(folder)) != own:
            yield replace(
                config,
                workspace=folder,
                store_path=config.store_path.parent / f"{config.agent}-{key}.sqlite",
                search=replace(config.search, sources=("memory",), extra_paths=()),
                project=None,
                layer=name,
                layers=(),
            )
