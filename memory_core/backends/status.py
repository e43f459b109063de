"""The status of a backend with an index of its own: read from the index and the configuration, without a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from memory_core.backends.ownership import refuse_other_workspace
from memory_core.config.agent import AgentConfig
from memory_core.embeddings.choice import choose_provider
from memory_core.embeddings.outage import explain_fallback, fingerprint_settings, may_fall_back
from memory_core.errors import NotIndexed, OtherWorkspace
from memory_core.records import KeySources, Status
from memory_core.sources import files
from memory_core.stores.values import IndexSummary


def report_status(
    name: str,
    config: AgentConfig,
    store: Path | None,
    summarise: Callable[[], IndexSummary],
    keys: KeySources,
    *,
    writable: bool,
) -> Status:
    """Report counts and states of one index.

    Args:
        name: The backend's.
        config: The agent's.
        store: The index file; None if it is no file.
        summarise: Summarises the index; raises NotIndexed where there is none.
        keys: The sources of keys for remote providers.
        writable: This session may write the index.

    Raises:
        StoreError: The index exists but cannot be used.
    """
    choice = choose_provider(config, keys)
    blank = Status(
        backend=name, agent=config.agent, workspace=config.workspace, store=store,
        provider=choice.provider, model=choice.model,
        warnings=(*config.warnings, *([choice.missing] if choice.missing else [])),
        vector_reason=None if choice.provider == "none" else "there are no embeddings yet",
        details={"provider reason": choice.reason, "access": "rw" if writable else "ro"},
    )  # fmt: skip
    try:
        summary = summarise()
        if summary.files:
            refuse_other_workspace(config, summary.workspace)
    except OtherWorkspace as error:
        return replace(blank, warnings=(*blank.warnings, f"{error}; {error.action}"))
    except NotIndexed:
        return blank
    return _add_outage(_fill(blank, config, summary), config, summary)


def _fill(blank: Status, config: AgentConfig, summary: IndexSummary) -> Status:
    """Add what the index holds."""
    serving, wants_vectors = summary.serving, blank.provider != "none"
    moving = serving is not None and (serving.provider != blank.provider or summary.is_moving)
    details = dict(blank.details)
    if serving is not None and moving:
        details["serving"] = f"{serving.provider} {serving.model}"
    warnings, target = blank.warnings, summary.target
    if serving and target and serving.dimensions and serving == replace(target, dimensions=serving.dimensions):
        warnings = (*warnings, serving.explain_change(target.dimensions))
    if summary.pending_reason is not None and summary.pending and wants_vectors:
        details["pending because"] = summary.pending_reason
    return replace(
        blank,
        details=details,
        warnings=warnings,
        indexed=True,
        store_bytes=summary.store_bytes,
        files=sum(summary.files.values()),
        chunks=summary.chunks,
        embeddings=summary.embeddings,
        pending=summary.pending if wants_vectors else 0,
        sources=summary.files,
        dirty=_has_changed(config, summary),
        model=serving.model if serving is not None and not moving else blank.model,
        vector=summary.vector if wants_vectors else "off",
        vector_reason=summary.vector_reason if wants_vectors else None,
        failures=summary.failures,
        last_sync=summary.last_sync,
    )


def _add_outage(status: Status, config: AgentConfig, summary: IndexSummary) -> Status:
    """Add the outage of the configured provider, if one is known, and the provider that serves in its place."""
    outage, serving = summary.outage, summary.serving
    if outage is not None and outage.settings != fingerprint_settings(status.provider, config):
        outage = None
    details = status.details if outage is None else {**status.details, "provider out": outage.description}
    if (
        serving is None
        or serving.provider != config.search.fallback
        or not may_fall_back(status.provider, config.search)
    ):
        return replace(status, details=details)
    fallback = explain_fallback(outage, status.provider, config.search)
    details = {name: value for name, value in details.items() if name != "serving"}  # it is the status's provider now
    return replace(status, provider=serving.provider, model=serving.model, fallback=fallback, details=details)


def _has_changed(config: AgentConfig, summary: IndexSummary) -> bool:
    """Return True if any note differs from what was indexed, by its stamp; of one left out, if it has changed since."""
    left_out = {failure.path for failure in summary.failures}
    synced_ns = (summary.last_sync or 0.0) * 1e9
    seen = {
        (file.source, file.path): file.stamp
        for file in files.list_files(config).files
        if file.path not in left_out or max(file.stamp.mtime_ns, file.stamp.ctime_ns) > synced_ns
    }
    return summary.stamps != seen
