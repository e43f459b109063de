"""Judges whether one statement takes the place of an older one; pure.

A pair is scored by what the two share near their values, and by how the newer one tells a change. Where the evidence is thin, the
score stays below `SHOWN`: two people of one name, a plan, an event or an exception replace nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from datetime import date
from functools import cache, lru_cache
from itertools import chain
from typing import Literal, NamedTuple, cast

from memory_core.text.folding import strip_marks
from memory_core.text.languages import STOP_WORDS, Language
from memory_core.text.succession import MOST_KEY_WORDS, find_key
from memory_core.text.tables import PHRASES, join_lines
from memory_core.text.tense import find_over, is_past, list_words, tells_absence, tells_change, tells_leave, tells_past
from memory_core.upkeep.statements import NAMES, UNDATED, Statement, Value, stem, tells_begin

SHOWN = 5.4  # from which score a pair becomes a proposal
CANDIDATE = 3.5  # from which a model is asked about it
STRONG = 6.0  # and from which search marks the line
LEAST_BITS = 2.5  # of a word that two statements must share
MOST_BITS = 7.0
NEAR = 0.6  # the weight of a word of the sentence before or of the heading
BESIDE = 32  # characters between a value and the word to which it belongs
APPOINTMENT = 0.8  # for two lines that name a day and an hour
NEARLY = 2.2  # scores below the best of the older statements that one replaces
CLOSE = 1.0  # scores below the best of its successors
DENIED = 2.0  # for a value that the newer statement denies: "1,120, not 1,180"
FIRM = 1.5  # for values that are clearly of one thing
MOST_REPLACED = 5  # by one newer statement; more are the readings of a log
MOST_DAYS = 200  # that a planned day lies ahead
NEXT = 4  # words between a relative and what belongs to them
MOST_WORDS = 22  # of a sentence that says who or what something is
# A fact of a list: a short line of MEMORY.md or a topic file. Who or what it is about is a rare word that a newer line repeats.
MOST_LISTED, LISTED_BITS, LISTED = 14, 4.0, 2.8
RARE_BITS = 5.5  # of its key or its value, by which a newer line that names another value is found

_TITLES = frozenset(list_words("all", "titles"))
_CALLED = rf"(?:(?:(?i:{'|'.join(_TITLES)})\b\.?|[A-ZÀ-Þ]\.) )?([A-ZÀ-Þ][^\W\d_]+(?: [A-ZÀ-Þ][^\W\d_]+)?)"
# "Ann's", "of Ann", "von Frau Berger", "of [[Ann]]": whose it is.
_OWNER = re.compile(rf"\b([A-ZÀ-Þ][^\W\d_]+)\]{{0,2}}['’]s\b|\b(?:{join_lines('of')}) \[{{0,2}}{_CALLED}")
_HAS = re.compile(
    rf"(?:\b{_CALLED}|(?<!\w)([^\W\d_]+))\]{{0,2}} (?:{join_lines('to have')})(?!\w)"
)  # "Ann has", "the club has"
_WORD = re.compile(r"[^\W\d_]+")
_CAPITAL = re.compile(r"(?<![\w'’])[A-ZÀ-ÞА-Я][^\W\d_]*[a-zß-ÿа-я]")
_PLACE = re.compile(
    rf"(?<!\w)(?:{join_lines('places')})(?: (?:{join_lines('articles')}))? (?:l['’])?([A-ZÀ-ÞА-Я][^\W\d_]+)"
)
_MINE = "|".join(chain(*(list_words(language, "mine") for language in STOP_WORDS)))
_ITS_PLACE = re.compile(
    rf"(?<!\w)(?:{join_lines('places')}|{join_lines('of')}|{join_lines('for')})"
    rf"(?: (?:{join_lines('articles')}|{_MINE}))?(?: (?:{join_lines('new')}))? (?:l['’])?([^\W\d_]+)",
    re.IGNORECASE,
)
_DENIED = re.compile(rf"(?<!\w)(?:{join_lines('not')})(?: [^\W\d_]+){{0,2}} ?[£€$]?\Z", re.IGNORECASE)
_AND = re.compile(rf"(?<!\w)(?:{join_lines('and')})(?!\w)|[&+]", re.IGNORECASE)
# Kinds of values that are compared with none.
_VAGUE = frozenset(("month", "number:st", "number:nd", "number:rd", "number:th"))
_NUMBERED = frozenset(("label", "code"))
_ADDRESSES = frozenset(("phone", "email", "account"))
_OF_APPOINTMENTS = frozenset(("weekday", "date", "clock"))
_CLAUSE = re.compile(r"[.,:](?!\d)|[;!?(\n|–—]")
# A name of one word or more, but for "Ann's".
_RUN = re.compile(r"(?<![\w'’])[A-ZÀ-ÞА-Я][^\W\d_]+(?:[ -][A-ZÀ-ÞА-Я][^\W\d_]+)*(?![\w'’])")
_FULL_NAME = re.compile(r"(?<=[^\W\d_] )[A-ZÀ-ÞА-Я][^\W\d_]+ [A-ZÀ-ÞА-Я][^\W\d_]+")
_PART = re.compile(r"[.,](?!\d)|[;!?(\n|–—]")
_LED = rf"(?:(?:{join_lines('articles')}|{_MINE}|{'|'.join(_TITLES)})\.? ){{0,3}}"
_NAMED = r"\w{1,40}(?:[ -]\w{1,40}){0,3}?"
# "The Saab is gone", "we sold the Saab", "wir haben den Saab verkauft".
_GIVEN_UP = re.compile(
    r"(?<!\w)[\s\"'“„«>*-]{0,4}(?:"
    rf"(?:(?P<writer>{join_lines('writer')}) )?(?:(?P<sold>{join_lines('to sell')})|(?P<quit>{join_lines('to give up')}))"
    rf" {_LED}(?P<object>{_NAMED})"
    rf"(?=\s?(?:[.,;!?)]|\Z)| (?:{join_lines('places')}|{join_lines('for')}) )"
    rf"|(?:{join_lines('writer')}) {_LED}(?P<held>{_NAMED}) (?:{join_lines('given up behind')})(?!\w)"
    rf"|{_LED}(?P<subject>{_NAMED}) "
    rf"(?:(?P<over>{join_lines('over')})|{join_lines('given up')}|{join_lines('given up behind')})(?!\w))",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"(?<![\d:])\d{1,9}(?:[.,]\d{2,3})?(?![\d:])")
_STOP = re.compile(r"[.;!?](?!\d)|[(\n|]")
Bits = Callable[[str], float]


class Comparison(NamedTuple):
    """The outcome of comparing two statements.

    Attributes:
        score: See `SHOWN`.
        kind: "value", "name" or "role".
        old: The value that is replaced; None where a name is.
        beside: A word that both share stands close to the values.
        firm: They are so clearly of one thing that no word has to tell a change.
    """

    score: float
    kind: str
    old: Value | None = None
    beside: bool = False
    firm: bool = False


def judge(old: Statement, new: Statement, bits: Bits) -> Comparison | None:
    """Return how likely the newer statement replaces the older one; None if it clearly does not.

    Args:
        old: The older statement.
        new: The newer one.
        bits: Returns the information of a stem, from its frequency in the notes.
    """
    if not old.date < new.date or old.text == new.text or "unsure" in new.flags:
        return None
    tells = "change" in new.flags
    values = (*old.values, *new.values)
    units = {*(each.rate for each in values), *(each.kind[7:] for each in values if each.kind.startswith("number:"))}
    own = [word for word in new.own if word in old.own]
    if old.title and not {"change", "new"}.isdisjoint(
        new.flags
    ):  # "Deadline of Heron moved" is about the note heron.md
        named = {*new.head, *new.near, *chain(*(each.stems for each in _find_owners(new)))}
        own += [word for word in old.title if word in named and word not in own]
    around = [{*each.near, *each.context} for each in (old, new)]
    wide = [*own, *(word for word in new.own if word in around[0]), *(word for word in old.own if word in around[1])]
    units -= {word for word in units for name in {*old.names} & {*new.names} if name.startswith(word)}  # "a 2014 Saab"
    anchors = [word for word in dict.fromkeys(wide) if bits(word) >= LEAST_BITS and len(word) > 2 and word not in units]
    if not anchors:
        return None
    led, follows = (not set(anchors).isdisjoint(each.head) for each in (old, new))
    heads = [_unify(each.head, each.language) for each in (old, new)]
    first, last = (_unify((*each.own, *each.near, *each.title, *each.context), each.language) for each in (old, new))
    fits = (led and heads[0] <= last, follows and heads[1] <= first)
    is_listed = (
        old.date == UNDATED and "event" not in old.flags and len(old.text.split()) + len(old.context) <= MOST_LISTED
    )
    if is_listed and _leaves(old, new, bits):
        return Comparison(STRONG, "role", firm=True)
    subjects = {word for word in anchors if bits(word) >= LISTED_BITS and _is_subject(word, old, new)}
    listed = is_listed and tells and (not subjects.isdisjoint((*own, *new.near, *old.context)) or len(subjects) > 1)
    about = any(fits)
    valued = filter(None, (_compare_value(each, old, new, anchors, about=about, listed=listed) for each in new.values))
    nearest = max(valued, key=lambda each: (each.beside, each.score), default=None)
    held = (
        is_listed
        and not {"change", "new"}.isdisjoint(new.flags)
        and "opens" in old.flags
        and _takes_place(old, new, bits)
    )
    found = filter(
        None,
        (
            nearest if nearest and _share_matter(old, new) else None,
            _compare_names(old, new, anchors, about=about, listed=held),
        ),
    )
    best = max(found, key=lambda each: (each.firm, each.score), default=None)
    days = [{each[:2] for each in one.values if each.kind in _OF_APPOINTMENTS} for one in (old, new)]
    again = held or (tells and not days[0].isdisjoint(days[1]))
    # "rent of the otter", "rent of the newt"
    other = not (again or about) and set(anchors) <= {*old.head} & {*new.head}
    if best is None or other or _names_another(old, new) or _is_of_another(best.kind, old, new, anchors):
        return None
    lasting = old.date == UNDATED and (all(fits) or "state" in new.flags)
    both = all("state" in each.flags for each in (old, new)) and all(fits)  # "the pool is 80", "the pool is 120"
    calm = "event" not in {*old.flags, *new.flags}
    stands = about and calm and (lasting or both)
    if not (best.firm or tells or stands):
        return None
    shared = sum(bits(word) for word in own) + NEAR * sum(bits(word) for word in wide[len(own) :] if word not in own)
    score = best.score + min(3.2, shared / 5) + 0.8 * best.beside + 0.8 * about + 0.7 * all(fits) + 0.9 * tells
    score += 0.4 * ("new" in new.flags) + 0.5 * ("state" in new.flags) + 0.4 * ("state" in old.flags)
    kinds = {kind for kind, _ in days[0]} & {kind for kind, _ in days[1]}
    moved = (tells or best.firm) and best.old and {best.old.kind, "clock"} <= kinds and len(kinds) > 1
    score += APPOINTMENT * bool(moved) - 0.9 * ("event" in old.flags)
    return best._replace(score=score)


def _is_subject(word: str, old: Statement, new: Statement) -> bool:
    """Return True if an older statement is about what a stem names: it begins with it, or it is the name of someone or something.

    Or the newer one says it, too, and it stands in the line of the older one before its values. What numbers a value, as "room"
    does, is no subject.
    """
    if any(name.startswith(word) for name in (*old.names, old.filler)):
        return True
    if any(value.kind.endswith(f":{word}") for value in old.values):
        return False
    before = old.text[: old.values[0].start] if old.values else ""
    stands = word in old.title or (word in new.own and (word in old.context or word in strip_marks(before.lower())))
    return stands or word in old.head[:NEXT]


def _leaves(old: Statement, new: Statement, bits: Bits) -> bool:
    """Return True if the newer statement says that somebody or something that the older one is about leaves, or is given up.

    "Ann is leaving us", "the Saab is gone", "we sold the Saab".
    """
    kin = _list_stems(old.language, "people") - {*stem([*_TITLES], old.language)}
    language = cast("Language", new.language)
    given_up = _find_given_up(new.text, language)
    if not ("leave" in new.flags or given_up) or not kin.isdisjoint(old.own) or len(old.own) < 2:
        return False
    owners = chain(*(found.groups("") for found in _OWNER.finditer(old.text)), _PLACE.findall(old.text))
    whose = _WORD.findall(" ".join(owners))
    named = {*old.names, old.filler} - {"", *(strip_marks(word.lower()) for word in whose)}
    known = _fold(old.text)
    for run in _RUN.finditer(new.text):
        names = _fold(run[0]) - _TITLES - STOP_WORDS[language]
        if names & named and names <= known and max(map(bits, stem([*names], language)), default=0) >= LISTED_BITS:
            clause = _CLAUSE.search(new.text, run.end())
            said = " ".join(new.text[run.end() : clause.start() if clause else None].split()[:NEXT])
            said = find_over().sub(" ", said)
            if tells_leave(said, language) and not tells_absence(said, language):
                return True
    key = {*stem(_WORD.findall((find_key(old.text) or ("",))[0]), language)}
    first = {*stem(_WORD.findall(old.text)[:2], language)} if old.text[:1].isalpha() else set()
    first = key or first - {*stem(whose, language)}
    for name, once in given_up:
        names = _fold(name)
        stems = {*stem([*names], language)}
        is_named = names <= known and not names.isdisjoint(named) and (stems.isdisjoint(key) or key <= stems)
        is_first = bool(first) and first <= stems <= {*old.own} and names.isdisjoint(STOP_WORDS[language])
        dated = once and any(value.kind in _OF_APPOINTMENTS for value in (*old.values, *new.values))
        if (is_named or is_first) and not dated and max(map(bits, stems), default=0) >= LISTED_BITS:
            return True
    return False


@lru_cache(maxsize=10_000)
def _find_given_up(text: str, language: Language) -> Sequence[tuple[str, bool]]:
    """Return the names of what a text says is over or given up by its writer, and if that may be so for once: "cancelled".

    A name is the whole subject of a clause, or the whole object of the writer's own verb. What is over or gone is so only where
    nothing follows but what it brought: "finished, buy more" ends nothing.
    """
    found = []
    for start in (0, *(sign.end() for sign in _CLAUSE.finditer(text))):
        said = _GIVEN_UP.match(text, start)
        if said is None:
            continue
        if start and said["object"] and not said["writer"] and language not in ("es", "pt"):
            continue  # "Bram was here, sold the boat"; Spanish and Portuguese verbs say whose they are
        rest = text[said.end() : said.end() + 2 * BESIDE].strip()
        goes_on, ends = not rest.startswith("?") and _CLAUSE.match(rest) is not None, not rest.strip(".!) ")
        brought = goes_on and _AMOUNT.search(rest) is not None and _is_past(rest, language)
        if ends or (brought if said["over"] else goes_on or (said["sold"] and not rest.startswith("?"))):
            found.append((said["subject"] or said["object"] or said["held"], said["quit"] is not None))
    return found


def _is_past(text: str, language: Language) -> bool:
    """Return True if a clause tells what has happened."""
    return tells_past(text, language) or (language == "en" and any(map(is_past, _WORD.findall(text.lower()))))


def _takes_place(old: Statement, new: Statement, bits: Bits) -> bool:
    """Return True if the newer statement names somebody or something else for the key of a fact, or beside its value.

    "Sails: Peg" and "Ferris does our sails now", "Passwords: Lockbox" and "Enough of Lockbox. Moved it all to Vaultier", or the
    same key again: "Wi-Fi password: otter" and "New Wi-Fi password: heron".
    """
    keys = [{*stem(_WORD.findall((find_key(each.text) or ("",))[0]), old.language)} for each in (new, old)]
    if keys[1] and keys[1] <= keys[0] <= {*keys[1], *old.title, *old.near} and tells_change(new.text):
        return True
    names, others = (
        {
            *stem(
                [word for word in _CAPITAL.findall(each.text) if strip_marks(word.lower()) in each.names], each.language
            )
        }
        for each in (old, new)
    )
    others |= {*stem(_WORD.findall(" ".join(_FULL_NAME.findall(new.text))), new.language)}
    labels = {value.kind.partition(":")[2] for value in new.values}
    if not (names or old.filler) or others <= {*old.own, *old.near, *old.title, *new.near, *labels}:
        return False
    sign = NAMES.search(old.text)
    split = sign.end() if sign and (old.filler or not {*old.names}.isdisjoint(_fold(old.text[sign.end() :]))) else 0
    if len(old.text[:split].split()) > MOST_KEY_WORDS:
        return False
    key = {*stem(_WORD.findall(old.text[:split]) if split else _WORD.findall(old.text)[:2], old.language)}
    key -= names | _list_stems(old.language, "people")
    value = {*stem(_CAPITAL.findall(re.split(r"[,(]", old.text[split:])[0]), old.language)} if split else names
    value -= others | {*stem([*_TITLES], old.language)}
    said = {word for word in (*new.own, *new.near) if bits(word) >= LISTED_BITS}
    if value & said and key & said and (key | value) & said & {*new.own}:
        return True
    if not split or "change" not in new.flags:
        return False
    told = {*chain(*(stem(_WORD.findall(part), new.language) for part in _PART.split(new.text) if tells_change(part)))}
    parts = [{*stem([word], old.language)} & key for word in _WORD.findall(old.text[:split])]
    whole = all(part & told for part in parts if part)  # a fuse box is no veg box
    shared = key & told if whole else set()
    shared |= value & {*new.near} if value.isdisjoint(new.own) else set()
    return any(bits(word) >= RARE_BITS for word in shared)


def _has_own_place(old: Statement, new: Statement) -> bool:
    """Return True if a thing of the older statement is told with a place that this has not: "new cleaner at the office".

    The place stands behind the thing, opens the text, or is in the label: "new office cleaner: Iva".
    """
    known = {*old.own, *old.title, *old.near, *new.near}
    for found in _ITS_PLACE.finditer(new.text):
        before = stem(_WORD.findall(new.text[: found.start()])[-1:], old.language)
        stands = {*before} <= {*old.own} if before else not new.text[: found.start()].strip(" -*>(")
        place = {*stem(_WORD.findall(found[1]), old.language)}
        if stands and place and place.isdisjoint(known) and not tells_change(f"{found[0].split()[0]} {found[1]}"):
            return True
    label = [word for word in _WORD.findall(new.text.partition(": ")[0]) if not tells_change(word)]
    told = {*stem(label, old.language)}
    return ": " in new.text and len(label) <= MOST_KEY_WORDS and not told.isdisjoint(old.own) and not told <= known


def _fold(text: str) -> set[str]:
    """Return the words of a text as names are compared."""
    return {strip_marks(word.lower()) for word in _WORD.findall(text)}


class Pair(NamedTuple):
    """A statement that may replace an older one, by their ids.

    Attributes:
        old, new: The ids.
        date: Of the newer one.
        score: See `SHOWN`.
        body: The comparison as JSON; "" where it is not known.
        line: A model's for the older one: "" where it words none, None where none was asked.
    """

    old: int
    new: int
    date: str
    score: float
    body: str = ""
    line: str | None = None


def select(pairs: Iterable[Pair], least: float = SHOWN) -> dict[int, Pair]:
    """Choose what is shown of pairs with some score: for each older statement the newest of its best successors.

    A newer statement replaces only what fits it nearly as well as its best. Where a successor is replaced itself, its own takes
    its place. They are returned by the older one.
    """
    shown = [pair for pair in pairs if pair.score >= least]
    best: defaultdict[int, float] = defaultdict(float)
    for pair in shown:
        best[pair.new] = max(best[pair.new], pair.score)
    successors: defaultdict[int, list[Pair]] = defaultdict(list)
    for pair in shown:
        if pair.score >= best[pair.new] - NEARLY:
            successors[pair.old].append(pair)
    chosen = {}
    for old, several in successors.items():
        top = max(pair.score for pair in several)
        chosen[old] = max(
            (pair for pair in several if pair.score >= top - CLOSE), key=lambda pair: (pair.date, pair.score)
        )
    for old, pair in chosen.items():
        last = pair
        while last.new in chosen and chosen[last.new].date > last.date:
            last = chosen[last.new]
        chosen[old] = Pair(old, last.new, last.date, pair.score)
    replaced = Counter(pair.new for pair in chosen.values())
    return {old: pair for old, pair in chosen.items() if replaced[pair.new] <= MOST_REPLACED}


def _names_another(old: Statement, new: Statement) -> bool:
    """Return True if the two are about things with different numbers: "Lock 41 is shut" and "Lock 39 was slow"."""
    for one, other in ((old, new), (new, old)):
        for value in one.values:
            kind, _, label = value.kind.partition(":")
            alike = [each.text for each in other.values if each.kind == value.kind]
            if (
                kind in ("label", "code")
                and "." not in "".join((value.text, *alike))
                and alike
                and value.text not in alike
                and {*_stem_before(value, one)} <= {label}
            ):
                return True
    return False


def _stem_before(value: Value, statement: Statement) -> list[str]:
    """Return the stems of the words before a value."""
    return stem(_WORD.findall(statement.text[: value.start]), statement.language)


def _compare_value(
    value: Value, old: Statement, new: Statement, anchors: Sequence[str], *, about: bool, listed: bool
) -> Comparison | None:
    """Return a judgement if a value of the newer statement may take the place of one of the older one.

    Args:
        value: The value.
        old, new: The statements.
        anchors: The rare stems that both share.
        about: The other one speaks of all that the subject of one names.
        listed: The older one is a fact of a list, and the newer one tells a change of what that is about.
    """
    alike = [
        each
        for each in old.values
        if each.kind == value.kind or _are_codes(each, value) or (listed and _is_bare(each, value))
    ]
    if (
        value.kind in _VAGUE
        or not alike
        or _DENIED.search(new.text, 0, value.start)
        or any(_is_same(each, value) for each in alike)
    ):
        return None
    denied = {each.text for each in new.values if _DENIED.search(new.text, 0, each.start)}
    is_rated = not alike[0].rate  # "from £34 to £41 a month"
    former = max(alike, key=lambda each: (each.text in denied, is_rated and each.rate == value.rate))
    is_denied = former.text in denied
    kind = value.kind.partition(":")[0]
    alike = [each for each in new.values if each.kind == value.kind and each.text == former.text]
    named = alike[0] if alike and not is_denied else None
    beside = any(_stands_beside(word, former, old) and _stands_beside(word, value, new) for word in anchors)
    thing = anchors
    if kind in ("label", "code"):  # a room or a code of something
        is_measure = "." in former.text + value.text
        labels = () if is_measure else {*_stem_before(former, old)[-1:], *_stem_before(value, new)[-1:]}
        thing = [word for word in anchors if word not in labels]
    elif kind in _ADDRESSES:
        thing = [
            word
            for word in anchors
            if word in (*old.own, *old.title) and (word in old.head or _unify([word], new.language) != {"telephone"})
        ]
        listed = listed and bool(thing)
    elif "change" not in new.flags:  # a name alone has many prices and days
        thing = [word for word in anchors if not any(name.startswith(word) for name in {*old.names} & {*new.names})]
    if (
        not (thing or named or listed)
        or (former.rate and value.rate and former.rate != value.rate)
        or (kind == "date" and not _is_ahead(former.text, old.date, new.date))
    ):
        return None
    amounts = kind in ("money", "number")
    ratio = float(value.text) / max(float(former.text), 1e-9) if amounts else 1.0
    if not 0.2 < ratio < 5:
        return None
    near = 0.4 < ratio < 2.5
    is_measured = former.kind not in ("number:", value.kind)  # "syrup, 1.5 ml", "only 1.1 of the syrup"
    beside_new = is_measured and any(_stands_beside(word, value, new) for word in anchors)
    listed = listed and near and (beside or beside_new or _is_told(former, value, new))
    if not listed and former.kind != value.kind and not _are_codes(former, value):
        return None
    close = beside or about or len(thing) > 1
    if kind in ("money", "weekday"):
        close = close and not {*thing}.isdisjoint({*old.own} & {*new.own})
    led = [{name for name in each.names if name.startswith(each.head)} for each in (old, new)]
    close = close and not (all(led) and led[0].isdisjoint(led[1]))  # "Bo's insurance", "the insurance of the Skoda"
    firm = is_denied or _is_firm(former, value, old, new, close=close)
    if named and (
        not (about or kind in _NUMBERED)
        or not ("change" in new.flags or firm)
        or _AND.search(new.text, *sorted((named.end, value.start)))
    ):
        return None
    firm = firm or (named is not None and kind in _NUMBERED)
    weight = 1.0 + 0.7 * (former.rate == value.rate not in ("", "once")) + DENIED * is_denied + FIRM * firm
    return Comparison(weight + LISTED * listed, "value", former, beside, firm or listed)


def _is_same(one: Value, other: Value) -> bool:
    """Return True for equal values: "at 7" may be 19:00, and "26 November" that of any year."""
    if one.kind == other.kind == "clock":
        return int(one.text[:2]) % 12 == int(other.text[:2]) % 12 and one.text[2:] == other.text[2:]
    if one.kind == other.kind == "date" and "-" in {one.text[0], other.text[0]}:
        return one.text[-6:] == other.text[-6:]
    return one.text == other.text


def _are_codes(one: Value, other: Value) -> bool:
    """Return True for "code 1958" and "the code: 3370", of which only the first stands behind the word that it numbers."""
    kinds = {each.kind.partition(":")[0] for each in (one, other)}
    return kinds == {"label", "code"} and len(one.text) == len(other.text) > 3 and (one.text + other.text).isdigit()


def _is_told(former: Value, value: Value, statement: Statement) -> bool:
    """Return True if a word that tells a change stands before a value of the same kind, or close to one of another."""
    text = statement.text
    if former.kind == value.kind and value.kind not in ("weekday", "clock", "number:"):
        begin = max((found.end() for found in _STOP.finditer(text, 0, value.start)), default=0)
        return tells_change(text[begin : value.end + 10]) or tells_begin(
            text, [each for each in statement.values if begin <= each.start < value.end + 10]
        )
    begin = max(value.start - BESIDE, *(found.end() for found in _CLAUSE.finditer(text, 0, value.start)), 0)
    end = next((found.start() for found in _CLAUSE.finditer(text, value.end)), len(text))
    return tells_change(text[begin : min(end, value.end + 10)])


def _is_bare(one: Value, other: Value) -> bool:
    """Return True for "60 g" and "down to 45": a number that may stand for a value of another kind."""
    return other.kind == "number:" and one.kind.partition(":")[0] in ("money", "number")


def _stands_beside(word: str, value: Value, statement: Statement) -> bool:
    """Return True if a word stands close to a value, in the same clause."""
    text = strip_marks(statement.text.lower())
    at = text.find(word)
    first, last = sorted((at, value.start))
    return at >= 0 and last - first < BESIDE and not _CLAUSE.search(text, first, last)


def _is_ahead(day: str, written: str, today: str) -> bool:
    """Return True if a day that a note names was still to come when the note and when a newer one was written.

    Args:
        day: "YYYY-MM-DD", or without the year.
        written: The day of the note; `UNDATED` for one without.
        today: That of the newer note.
    """
    year, rest = day[:-6], day[-5:]
    if not year:
        if written == UNDATED:
            return rest > today[5:]
        year = written[:4] if rest >= written[5:] else str(int(written[:4]) + 1)
    with suppress(ValueError):  # 30 February
        ahead = date.fromisoformat(f"{year}-{rest}")
        soon = written == UNDATED or (ahead - date.fromisoformat(written)).days < MOST_DAYS
        return soon and ahead.isoformat() > today
    return False


def _is_firm(former: Value, value: Value, old: Statement, new: Statement, *, close: bool) -> bool:
    """Return True if two values are clearly of one thing, so that no word has to tell a change."""
    kind = value.kind.partition(":")[0]
    lasting = old.date == UNDATED or "state" in old.flags
    rates = bool(former.rate and value.rate)
    measure = "." in former.text + value.text and value.kind[6:] in {*old.head} & {*new.head}  # "Weight 95.5"
    if kind in ("money", "number"):
        ratio = float(value.text) / max(float(former.text), 1e-9)
        price = kind == "money" and ("event" not in new.flags or "state" in new.flags)  # no payment
        return (rates and 0.4 < ratio < 2.5) or (price and close and lasting and 0.6 < ratio < 1.7)
    return (
        kind in _ADDRESSES
        or (kind in ("label", "code") and (lasting or "change" in old.flags or measure))
        or (kind == "date" and close)
        or (kind == "weekday" and close and rates and value.rate == "week")
    )


def _compare_names(
    old: Statement, new: Statement, anchors: Sequence[str], *, about: bool, listed: bool
) -> Comparison | None:
    """Return a judgement if two statements name different people, places or firms for one role."""
    dwell = [_list_stems(each.language, "dwell") & set(each.own) for each in (old, new)]
    if not (all(dwell) or old.filler or listed) or max(len(each.text.split()) for each in (old, new)) > MOST_WORDS:
        return None
    before, after = ({*_find_capitals(each)} for each in (old, new))
    places = [{strip_marks(name.lower()) for name in _PLACE.findall(each.text)} for each in (old, new)]
    whose = [word for word in anchors if word not in dwell[0] | dwell[1]]
    if (
        all(dwell)
        and places[0]
        and places[1] - before
        and any(each.startswith(word) for word in whose for each in after if each in before or word in old.title)
    ):
        return Comparison(2.0 + FIRM, "role", firm=True)
    roles = {*anchors}.intersection(old.head, (*new.head, *new.near))
    known = old.filler and any(old.filler.startswith(word) for word in (*new.own, *new.near) if len(word) > 2)
    leaves = "leave" in new.flags and "leave" not in old.flags
    other = new.filler not in ("", old.filler)
    if known and after - before and (leaves or (roles and other)):
        return Comparison(1.3 + bool(roles) + FIRM * leaves, "role", firm=leaves)
    if _has_own_place(old, new):
        return None
    if listed:
        return Comparison(1.0 + LISTED, "name", firm=True)
    return Comparison(1.3, "name") if about and roles and old.filler and other else None


def _find_capitals(statement: Statement) -> list[str]:
    """Return the words with a capital letter outside of values, folded, but for function words and words of time."""
    text = list(statement.text)
    for value in statement.values:
        text[value.start : value.end] = " " * (value.end - value.start)
    words = _WORD.findall("".join(text))
    return [strip_marks(word.lower()) for word in words if word[0].isupper() and stem([word], statement.language)]


class _Owner(NamedTuple):
    """Somebody, or a project, to whom something belongs: the stems of the name, and of the words beside it."""

    stems: frozenset[str]
    owned: frozenset[str]


def _is_of_another(kind: str, old: Statement, new: Statement, anchors: Sequence[str]) -> bool:
    """Return True if the two speak of different people or projects: of a relative or an owner whom the other one lacks.

    Whose a line is that names nobody tells the name of its note, where it says what everyone has.
    """
    people = _list_stems(new.language, "people")
    said = [stem([word], new.language) for word in _WORD.findall(new.text)]
    shared = [at for at, several in enumerate(said) if not set(several).isdisjoint((*old.own, *old.title))]
    others = people - {*old.own, *old.near, *old.title}
    if any(
        not others.isdisjoint(word) and any(abs(at - each) <= NEXT for each in shared) for at, word in enumerate(said)
    ):
        return True
    first, last = ({*each.own, *each.near, *each.title, *each.context} for each in (old, new))
    filler = set() if kind == "value" else {*stem([old.filler], old.language)}  # "Manager: Dana", "Dana's manager"
    owners = [each for each in _find_owners(new) if each.owned & _unify(old.own, old.language)]
    names = [frozenset(old.title), *(each.stems for each in _find_owners(old))]
    if owners and all(_is_other(each.stems, first - filler, names) for each in owners):
        return True
    changes = _find_changes(new)
    common = _unify(anchors, new.language) - changes
    owners = [each for each in _find_owners(old) if each.owned & _unify(new.own, new.language)]
    if owners and all(each.stems.isdisjoint(last) and common <= each.owned for each in owners):
        return True
    had = _list_stems(old.language, "everyone has") | _list_stems(old.language, "telephone")
    if old.title and last.isdisjoint(old.title) and {*old.head, *anchors} - changes <= had:
        return True
    kin = [each.owned & people for each in _find_owners(old) if not each.stems.isdisjoint(last)]
    if any(each and each.isdisjoint(last) for each in kin):  # "Ann's sister has a number", "Ann has a number"
        return True
    mine, theirs = ({"1", "3"} & set(each.flags) for each in (old, new))
    return bool(mine and theirs) and mine.isdisjoint(theirs) and set(old.names).isdisjoint(new.names)


def _is_other(name: frozenset[str], known: Set[str], names: Iterable[frozenset[str]]) -> bool:
    """Return True if a name is none that an older statement knows, or shares only a surname with its names: "Paul Lind".

    Args:
        name: Its stems.
        known: The stems in and around the older statement.
        names: Whose that one is.
    """
    return name.isdisjoint(known) or (not name <= known and any(each & name for each in names))


def _share_matter(old: Statement, new: Statement) -> bool:
    """Return True if the two may say the same of their subject: they share a word besides its name, or one has none."""
    subject = {*old.title, *new.title, *chain(*(each.stems for one in (old, new) for each in _find_owners(one)))}
    subject &= {*old.head, *old.title, *new.title}
    subject |= {*stem([*_TITLES], new.language), *_find_changes(old), *_find_changes(new)}
    first, last = (_unify(each.own, each.language) - subject for each in (old, new))
    around = [_unify((*each.own, *each.near, *each.context), each.language) for each in (old, new)]
    return not first or not last or not first.isdisjoint(around[1]) or not last.isdisjoint(around[0])


def name_others(old: Sequence[Statement], new: Sequence[Statement]) -> bool:
    """Return True if statements name something besides what they are about, and newer ones name something else."""
    said, told = (
        {*stem([word.capitalize() for each in several for word in _find_capitals(each)], several[0].language)}
        for several in (old, new)
    )
    about = {*chain(*(each.head for each in old))}
    return not said <= about and not told <= {*chain(*((*each.own, *each.near, *each.title) for each in old))}


def _find_changes(statement: Statement) -> set[str]:
    """Return the stems of the words that tell a change."""
    return {*stem([word for word in _WORD.findall(statement.text) if tells_change(word)], statement.language)}


def _unify(stems: Iterable[str], language: str) -> frozenset[str]:
    """Return stems, with one for all words for a telephone number."""
    dialled = _list_stems(language, "telephone")
    return frozenset("telephone" if each in dialled else each for each in stems)


def _find_owners(statement: Statement) -> list[_Owner]:
    """Return those to whom something belongs by a statement."""
    found = []
    for each in chain(_OWNER.finditer(statement.text), _HAS.finditer(statement.text)):
        before, behind = statement.text[: each.start()].split()[-3:], statement.text[each.end() :].split()[:3]
        is_before = each.re is _OWNER and each[2]
        name, owned = (
            stem(_WORD.findall(" ".join(words)), statement.language)
            for words in (each.groups(""), before if is_before else behind)
        )
        if name:
            found.append(_Owner(frozenset(name), _unify(owned, statement.language)))
    return found


@cache
def _list_stems(language: str, name: Literal["people", "dwell", "telephone", "everyone has"]) -> frozenset[str]:
    """Return the stems of the words that stand under a name for a language, or for all of them."""
    listed = list_words(language, name) if name in PHRASES[language] else PHRASES["all"][name].split()
    return frozenset(stem(listed, language))
