"""The layer to which a fact goes: the person's, the project's own notes, or the project's private folder."""

from __future__ import annotations

import os
from datetime import date

from memory_core.atomic import replace_file
from memory_core.config.agent import LOCAL, PERSON, AgentConfig
from memory_core.config.projects import OF_REPOSITORY
from memory_core.errors import NoteNotWritten, PathRefused
from memory_core.history.git_log import is_pushed
from memory_core.sources import writer
from memory_core.sources.refusals import describe_os_error


def find_destination(config: AgentConfig, target: str | None, day: date) -> AgentConfig:
    """Return the layer whose notes are written, whose folder is made if it is one of ours.

    The notes of a project that was found are left alone where others would get them: in a repository with a remote that does
    not ignore them. The project's file says if they are written all the same. A repository without notes gets none.

    Args:
        config: Of the session.
        target: Of `memory_append`.
        day: Today.

    Raises:
        PathRefused: This session sees no layer of the person.
        NoteNotWritten: The folder cannot be made.
    """
    project, local = config.project, config.find_named(LOCAL)
    found = config
    if target == PERSON:
        person = config.find_named(PERSON)
        if person is None:
            action = 'Use the target "longterm" (memory-core add --longterm), or name a folder: memory.layers.person'
            told = "goes with projects, and these notes are of none"
            if project is not None:
                told = "is no layer that this session sees"
            raise PathRefused(PERSON, told, action=action)
        found = person
    elif project is not None and local is not None and not project.writes:
        note = writer.find_note(target, config.workspace, day)
        if project.writes is False or not config.workspace.is_dir() or is_pushed(config.workspace, note):
            found = local
    if found.layer:
        try:
            found.workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
            if found is local and project is not None:
                record, named = local.workspace / OF_REPOSITORY, os.fsencode(f"{project.repository}\n")
                if not record.is_file() or record.read_bytes() != named:
                    replace_file(record, named)
        except OSError as error:
            action = "Check the disk and the permissions."
            raise NoteNotWritten(str(found.workspace), describe_os_error(error), action=action) from error
    return found
