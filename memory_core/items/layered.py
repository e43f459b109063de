"""The items of a project and of the person together: preferences that name no place are the person's, all else the project's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import chain
from typing import TYPE_CHECKING, Any

from memory_core.config.agent import PERSON, AgentConfig
from memory_core.items.grammar import compile_pattern
from memory_core.items.items import MAX_LIMIT, Items
from memory_core.items.mirror import Mirror
from memory_core.items.records import Draft, Forgotten, Item, ItemAnswer, Written
from memory_core.records import Access, KeySources, ProgressCallback

if TYPE_CHECKING:
    from memory_core.items.items import Embedding


def open_items(config: AgentConfig, *, keys: KeySources | None = None, access: Access = "rw") -> Items:
    """Return the items of an agent; those of a project that was found come with the person's. Opens nothing."""
    person = config.find_named(PERSON)
    if config.project is None or person is None:
        return Items(config, keys=keys, access=access)
    return LayeredItems(config, Items(person, keys=keys, access=access), keys=keys, access=access)


class LayeredItems(Items):
    """The items of a project, of which some are kept with the person's. The constructor opens nothing.

    Preferences go to the person's, but for "in this repo", and what a "we" does to software. If the project is private, none
    does, and `memory-core review` proposes them for there.

    Args:
        config: The project's.
        person: Those of the person.
        keys, access: As for `Items`.
    """

    def __init__(self, config: AgentConfig, person: Items, *, keys: KeySources | None, access: Access) -> None:
        super().__init__(config, keys=keys, access=access)
        self.person = person
        self.mirror = _Mirrors(self, self._file, config)
        self._is_private = config.project is not None and config.project.private

    def write_many(
        self, drafts: Sequence[Draft], *, embeddings: Sequence[Embedding] | None = None, **options: Any
    ) -> list[Written]:
        """See `Items.write_many`; a fact that corrects one of the person's goes there, too."""
        theirs = [n for n, draft in enumerate(drafts) if not self._is_private and self._is_personal(draft)]
        written: dict[int, Written] = {}
        for write, numbers in (
            (self.person.write_many, theirs),
            (super().write_many, [n for n in range(len(drafts)) if n not in theirs]),
        ):
            if numbers:
                given = None if embeddings is None else [embeddings[n] for n in numbers]
                done = write([drafts[n] for n in numbers], embeddings=given, **options)
                written |= dict(zip(numbers, done, strict=True))
        return [written[n] for n in range(len(drafts))]

    def _is_personal(self, draft: Draft) -> bool:
        is_of_person = draft.kind == "preference" and not _is_of_project(draft.content)
        return is_of_person or bool(draft.supersedes and self.person.get_many(draft.supersedes))

    def query(self, text: str | None = None, **options: Any) -> ItemAnswer:
        """See `Items.query`; a fact that both hold is found once."""
        answers = [super().query(text, **options), self.person.query(text, **options)]
        hits = sorted((hit for answer in answers for hit in answer.hits), key=lambda hit: -hit.score)
        once = {hit.item.content: hit for hit in reversed(hits)}
        best = sorted(once.values(), key=lambda hit: -hit.score)[: options.get("limit", 6)]
        by_meaning = any(answer.strategy == "embedding" for answer in answers)
        warnings = dict.fromkeys(answer.warning for answer in answers if answer.warning)
        return ItemAnswer(
            hits=tuple(best), strategy="embedding" if by_meaning else "keyword", warning="; ".join(warnings) or None
        )

    def get_many(self, ids: Iterable[str]) -> list[Item]:
        """See `Items.get_many`."""
        wanted = list(ids)
        found = {item.id: item for item in chain(self.person.get_many(wanted), super().get_many(wanted))}
        return [found[each] for each in wanted if each in found]

    def list(self, *, limit: int = 100, offset: int = 0, **conditions: Any) -> Sequence[Item]:
        """See `Items.list`."""
        most = limit + max(offset, 0)
        both = [*super().list(limit=most, **conditions), *self.person.list(limit=most, **conditions)]
        once = {item.id: item for item in both}
        return sorted(once.values(), key=lambda item: -item.said)[max(offset, 0) : most]

    def list_standing(self, *, limit: int) -> Sequence[Item]:
        """See `Items.list_standing`."""
        both = [*super().list_standing(limit=limit), *self.person.list_standing(limit=limit)]
        once = {item.content: item for item in both}
        return sorted(once.values(), key=lambda item: -item.said)[:limit]

    def list_personal(self) -> Iterator[Item]:
        """See `Items.list_personal`."""
        if self._is_private:
            known = {item.content for item in self.person.export()}
            for each in super().export():
                settled = each.scope == self.scope and not (each.pending or each.superseded_by)
                if (
                    settled
                    and each.kind == "preference"
                    and not (each.content in known or _is_of_project(each.content))
                ):
                    yield each

    def share(self, ids: Sequence[str]) -> None:
        """See `Items.share`."""
        self.person.restore(self.get_many(ids))

    def count(self, **conditions: Any) -> int:
        """See `Items.count`."""
        both = self.person.get_many(item.id for item in super().list(limit=MAX_LIMIT, **conditions))
        return super().count(**conditions) + self.person.count(**conditions) - len(both)

    def forget(self, **conditions: Any) -> Forgotten:
        """See `Items.forget`."""
        own, theirs = super().forget(**conditions), self.person.forget(**conditions)
        remains = tuple(dict.fromkeys((*own.remains, *theirs.remains)))
        return replace(own, items=(*own.items, *theirs.items), remains=remains, of_person=theirs.of_person)

    def forget_learned(self, places: Collection[tuple[str, int]]) -> tuple[Item, ...]:
        """See `Items.forget_learned`."""
        return (*super().forget_learned(places), *self.person.forget_learned(places))

    def was_forgotten(self, draft: Draft) -> bool:
        """See `Items.was_forgotten`."""
        return super().was_forgotten(draft) or self.person.was_forgotten(draft)

    def promote(self, ids: Sequence[str]) -> int:
        """See `Items.promote`."""
        return super().promote(ids) + self.person.promote(ids)

    def demote(self, item_id: str) -> Item | None:
        """See `Items.demote`; one that was shared is the person's no more, and stays in the project."""
        own, theirs = next(iter(super().get_many([item_id])), None), self.person.get(item_id)
        if own and theirs:
            self.person.delete(item_id)
            return own
        return super().demote(item_id) if own else self.person.demote(item_id)

    def mark_recalled(self, ids: Sequence[str]) -> None:
        """See `Items.mark_recalled`."""
        super().mark_recalled(ids)
        self.person.mark_recalled(ids)

    def export(self) -> Iterator[Item]:
        """See `Items.export`."""
        once = {item.id: item for item in chain(super().export(), self.person.export())}
        yield from sorted(once.values(), key=lambda item: item.said)

    def start(self) -> None:
        """See `Items.start`."""
        super().start()
        self.person.start()

    def backfill(self, progress: ProgressCallback | None = None) -> int:
        """See `Items.backfill`."""
        return super().backfill(progress) + self.person.backfill(progress)

    def rest(self) -> None:
        """See `Items.rest`."""
        super().rest()
        self.person.rest()

    def close(self) -> bool:
        """See `Items.close`."""
        closed = self.person.close()
        return super().close() and closed

    def release(self) -> bool:
        """See `Items.release`."""
        released = self.person.release()
        return super().release() and released


def _is_of_project(rule: str) -> bool:
    """Return True if a preference says where it holds, "in this repo" or "here", or tells what a "we" does to software."""
    return compile_pattern("messages", "of_project").search(rule) is not None


class _Mirrors(Mirror):
    """Mirrors the items of a project in its notes, and those of the person in the person's."""

    def __init__(self, items: LayeredItems, *others: Any) -> None:
        super().__init__(items, *others)
        self._person = items.person

    def append(self, items: Sequence[Item], day: date) -> None:
        """See `Mirror.append`."""
        theirs = {item.id for item in self._person.get_many(item.id for item in items)}
        super().append([item for item in items if item.id not in theirs], day)
        self._person.mirror.append([item for item in items if item.id in theirs], day)

    def take_over(self, day: date) -> list[str]:
        """See `Mirror.take_over`."""
        return [*super().take_over(day), *self._person.mirror.take_over(day)]
