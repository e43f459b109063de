"""Checks of everything that QMD needs: the program, its Node, version, database, collections and models."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Literal

from memory_core.errors import BackendUnavailable, StoreCorrupt, StoreError, SyncBusy
from memory_core.hookspecs import BackendContext
from memory_core.records import Finding
from memory_qmd.client import DIAGNOSE, INDEX, INSTALL, TYPED_SINCE, QmdContext, find_failure
from memory_qmd.collections import is_config_current
from memory_qmd.database import QmdFile
from memory_qmd.process import SEGMENTATION_FAULT
from memory_qmd.queries import parse_version

MIN_NODE = (22, 14)


def diagnose(context: BackendContext) -> list[Finding]:
    """Check everything that QMD needs, in the order in which it fails; runs QMD, but leaves the index unchanged.

    Args:
        context: The agent's context, with the section `memory.qmd`.

    Returns:
        At least one finding; a check that depends on one that failed is left out. Subjects are "program", "node", "version",
        "database", "collections" and "models".
    """
    qmd = QmdContext.of(context)
    with closing(qmd.client):
        return list(_check(qmd))


def _check(qmd: QmdContext) -> Iterator[Finding]:
    try:
        program = qmd.client.find_program()
    except BackendUnavailable as error:
        yield Finding("program", "fail", error.reason, error.action)
        return
    yield Finding("program", "ok", program)
    node = _check_node(qmd)
    yield node
    if node.level == "ok":
        yield _check_version(qmd)
    yield _check_database(qmd)
    yield from _check_collections(qmd)
    yield from _check_models(qmd)


def _check_node(qmd: QmdContext) -> Finding:
    """Have QMD open its database; `--version` would work under a Node that is too old for everything else."""
    command = ["collection", "list"]
    outcome = qmd.client.attempt(command, timeout_seconds=qmd.client.command_seconds)
    failure = find_failure(command, outcome)
    if failure is None:
        return Finding("node", "ok", f"QMD opens its database in {outcome.seconds:.2f} s")
    message = failure.reason
    if outcome.status == SEGMENTATION_FAULT:
        message += f"; {_describe_node(qmd)}"
    return Finding("node", "fail", message, _advise(qmd, failure, command))


def _advise(qmd: QmdContext, failure: BackendUnavailable, command: Sequence[str]) -> str:
    """Return what to do about a command that failed, in place of an advice to run the doctor."""
    if failure.action != DIAGNOSE:
        return failure.action or INSTALL
    action = f"try it in a terminal: {qmd.client.find_program()} {' '.join(command)}"
    if "no answer within" not in failure.reason:
        return action
    return f"{action}; a slow machine needs a longer memory.qmd.update.commandTimeoutMs"


def _describe_node(qmd: QmdContext) -> str:
    """Describe the Node on PATH; a launcher may use another."""
    node = shutil.which("node")
    if node is None:
        return "there is no node on PATH"
    version = parse_version(
        qmd.client.run_program([node, "--version"], timeout_seconds=qmd.client.command_seconds).stdout
    )
    shown = ".".join(map(str, version)) or "unknown"
    if version[:2] >= MIN_NODE:
        return f"the node on PATH is {shown}, which is new enough: QMD's launcher may use another"
    return f"the node on PATH is {shown}, QMD needs {'.'.join(map(str, MIN_NODE))}"


def _check_version(qmd: QmdContext) -> Finding:
    qmd.client.forget_version()
    try:
        version = qmd.client.read_version()
    except BackendUnavailable as error:
        return Finding("version", "fail", error.reason, _advise(qmd, error, ["--version"]))
    shown = ".".join(map(str, version)) or "unknown"
    if version >= TYPED_SINCE:
        return Finding("version", "ok", f"QMD {shown}")
    message = f"QMD {shown} searches for one word in one collection at a time, so searches are slower and find less"
    return Finding("version", "warn", message, "npm install -g @tobilu/qmd")


def _check_database(qmd: QmdContext) -> Finding:
    try:
        contents = QmdFile(qmd.home.database).read_contents()
    except StoreCorrupt:
        return Finding("database", "fail", f"{qmd.home.database} is damaged; the next update rebuilds it", INDEX)
    except StoreError as error:
        action = f"see that it is a file that this user may read and write: {qmd.home.database}"
        return Finding("database", "fail", error.reason, action)
    except SyncBusy as error:
        return Finding("database", "warn", str(error), error.action)
    files = len(qmd.collections.list_files().files)
    message = f"{contents.total} of {files} files are indexed, {contents.embedded} with embeddings"
    level: Literal["ok", "warn"] = "ok" if contents.total >= files else "warn"
    return Finding("database", level, message, "" if level == "ok" else INDEX)


def _check_collections(qmd: QmdContext) -> Iterator[Finding]:
    present = qmd.collections.list_present()
    for item in qmd.collections.planned:
        if item in present:
            yield Finding("collections", "ok", f"{item.name}: {item.pattern} in {item.root}")
        elif item.shown is not None:
            message = f"{item.name}: {item.root} does not exist"
            action = INDEX if item.source == "sessions" else "correct memory.qmd.paths"
            yield Finding("collections", "warn", message, action)
    if qmd.home.config_file.exists() and not is_config_current(qmd.home, present, qmd.models.uris):
        message = f"{qmd.home.config_file} does not match the configuration; the next update repairs it"
        yield Finding("collections", "warn", message, INDEX)


def _check_models(qmd: QmdContext) -> Iterator[Finding]:
    mode = qmd.settings.search_mode
    if mode == "search":
        yield Finding("models", "ok", 'searchMode "search" needs no model')
        return
    problems = qmd.models.find_problems(mode, typed_lines=True)
    for problem in problems:
        yield Finding("models", "warn", f"{problem.reason}; QMD searches for words only", problem.action)
    state = qmd.home.load_state()
    if state.embed_failures and not problems:
        attempts = "attempt" if state.embed_failures == 1 else f"{state.embed_failures} attempts"
        yield Finding("models", "warn", f"the last {attempts} to embed failed", INDEX)
    if not problems and not state.embed_failures:
        yield Finding("models", "ok", f'searchMode "{mode}" has its models')
