r"""Secrets in text -> `[redacted]`: keys, tokens, passwords and private keys in their usual shapes; pure.

The shapes stand in `secrets.txt`. Those of vendors' keys are those of gitleaks (`vendors.json`), and some of its rules
shortened to prefix, alphabet and a least length, for keys that were cut or invented. A shape that ordinary words could have
must hold a digit. In doubt, text is redacted: a lost word costs little. A bare hash or UUID stays, since people search for
those.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memory_core.text.folding import clean
from memory_core.text.tables import read_table
from memory_core.threads import cached_property

REDACTED = "[redacted]"
_REFERENCE = re.compile(
    r"\$(?:[A-Z][A-Z0-9_]*|\{[A-Z][A-Z0-9_]*\})[\"'),;.]*|(?:os\.environ|os\.getenv|process\.env)\b\S*"
)
# Of keys that stand in a row without a space, each pass shows the next one: after as many passes the rest of the row is blanked.
MOST_PASSES = 4
_RUN = re.compile(r"(?<![\w+/~-])[\w+/~-]*(?:\[redacted\][\w+/=.~-]*)+")
# "&amp;amp;#61;" and "%25253D": escaped as often as somebody likes, and each time would be looked at.
_ESCAPED_AGAIN = re.compile(r"&(?:amp;|#38;|#x26;)+|%(?:25)+(?=[0-9a-f]{2})", re.IGNORECASE)


def redact(text: str) -> str:
    """Replace every secret in a text by `[redacted]`.

    The name of a secret stays (`password=[redacted]`), and so does a reference to an environment variable. Line ends stay
    where they are, so that lines keep their numbers. Redacting again changes nothing. A text whose secret is
    disguised comes back as its reader sees it.
    """
    passes = 0
    while (redacted := _redact_once(text)) != text:  # one secret may have hidden another from its pattern
        text, passes = redacted, passes + 1
        if passes > MOST_PASSES:
            text = _RUN.sub(REDACTED, text)
    # Entities, full-width letters and invisible characters disguise a name from its pattern.
    seen = clean(_ESCAPED_AGAIN.sub(lambda found: found[0][0], text))
    if seen != text and seen.count("\n") == text.count("\n") and _redact_once(seen) != seen:
        return redact(seen)
    return text


def _redact_once(text: str) -> str:
    lowered = text.lower()
    for rule in (*_load_rules(), *_load_vendors()):
        if any(map(lowered.__contains__, rule.hints)):
            text = rule.pattern.sub(_replace_secret, text)
    if any(map(lowered.__contains__, _fill("<NEAR_HINTS>").split())):
        text = "\n".join(map(_blank_made_up, _blank_columns(text.split("\n"))))
    return _ACCOUNT.sub(_replace_account, _WALLET.sub(_replace_wallet, text))


def _blank_made_up(line: str) -> str:
    """Blank the words of a line that nobody speaks, letters with digits, where the line names a password or token near them."""
    named = [(found.start(), found.lastgroup) for found in _near().finditer(line)]
    starts = [start for start, _ in named]

    def blank(found: re.Match[str]) -> str:
        near = named[bisect_left(starts, found.start() - NEAR) : bisect_right(starts, found.end() + NEAR)]
        least = min((TOKEN_CHARS if kind == "token" else 8 for _, kind in near), default=len(line) + 1)
        return REDACTED if len(found[0]) >= least and not _KNOWN.match(found[0]) else found[0]

    return _MADE_UP.sub(blank, line) if named else line


def _blank_columns(lines: list[str]) -> Iterator[str]:
    """Blank the cells of a table's columns whose head names a password or token."""
    named: list[int] | None = None  # outside a table
    for line in lines:
        cells = line.split("|") if line.lstrip().startswith("|") else []
        if not cells:
            named = None
        elif named is None:
            named = [place for place, cell in enumerate(cells) if _near().fullmatch(cell.strip(" \t*_`"))]
        else:
            for place in named:
                if place < len(cells) and cells[place].strip(" \t:-"):
                    cells[place] = f" {REDACTED} "
        yield "|".join(cells) if named and cells else line


def _replace_wallet(match: re.Match[str]) -> str:
    """Blank a line of as many words as a wallet has, of which hardly one joins others in a sentence."""
    from memory_core.text.languages import STOP_WORDS

    words = re.findall("[a-z]+", match[0])
    joining = sum(any(word in common for common in STOP_WORDS.values()) for word in {*words})
    return REDACTED if len(words) in WALLET_WORDS and joining < 2 else match[0]


def _replace_account(match: re.Match[str]) -> str:
    """Blank the number of a payment card or a bank account, if its check digits are right."""
    digits = re.sub(r"[ -]", "", match[0])
    return REDACTED if (_is_card(digits) if digits.isdigit() else _is_iban(digits)) else match[0]


def _is_card(digits: str) -> bool:
    """Return True if the last digit checks the others (ISO/IEC 7812, Luhn)."""
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(number - 9 * (number > 9) for number in doubled) % 10 == 0


def _is_iban(text: str) -> bool:
    """Return True if the two digits behind the country check the rest (ISO 13616, modulo 97)."""
    return int("".join(str(int(letter, 36)) for letter in text[4:] + text[:4])) % 97 == 1


def _replace_secret(match: re.Match[str]) -> str:
    secret = match["secret"]
    if _REFERENCE.fullmatch(secret):
        return match[0]
    start, end = match.start("secret") - match.start(), match.end("secret") - match.start()
    return match[0][:start] + REDACTED + "\n" * secret.count("\n") + match[0][end:]


@dataclass(frozen=True)
class _Rule:
    """One kind of secret.

    Attributes:
        hints: Lower-case strings; every text that the pattern matches holds at least one, and most texts hold none.
        expression: A regular expression whose group `secret` is replaced.
    """

    hints: tuple[str, ...]
    expression: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when a text holds a hint."""
        return re.compile(self.expression)


@cache
def _load_vendors() -> tuple[_Rule, ...]:
    """Return the rules for the keys of vendors."""
    document = json.loads(Path(__file__).with_name("vendors.json").read_bytes())
    return tuple(_Rule(tuple(rule["hints"]), rule["pattern"]) for rule in document["rules"])


@cache
def _load_rules() -> tuple[_Rule, ...]:
    """Return the rules of secrets.txt, which tells how they are written, in their order."""
    rules = []
    for section, entries in _load_shapes().items():
        for text in entries.values() if section != "pieces" else ():
            hints, _, shape = _fill(text).partition("\n")
            expression = rf"(?a)(?<![A-Za-z0-9])(?P<secret>{shape})" if section == "keys" else f"(?xi){shape}"
            rules.append(_Rule(tuple(hints.split()), expression))
    return tuple(rules)


def _load_shapes() -> Mapping[str, Mapping[str, str]]:
    return read_table(Path(__file__).with_name("secrets.txt"))


@cache
def _fill(text: str) -> str:
    """Return a text of secrets.txt with the pieces in place of their names."""
    return re.sub("<([A-Z_]+)>", lambda found: _fill(_load_shapes()["pieces"][found[1]]), text)


# ---- Words that somebody has made up, near the name of a secret: "Sunflower92 is my password".

NEAR = 70  # characters
TOKEN_CHARS = 20  # of a token, at least
_MADE_UP = re.compile(
    r"""(?<![\w./@#$-])(?!redacted\])(?=[^\s\d]{1,40}\d|\d{1,40}[A-Za-z])"""
    r"""[^\s,;:?"'()<>\[\]{}/\\=.`]{8,200}(?![\w/@=(]|\.\w)"""
)
# Words of that form which are names: versions, "16-character", commits, algorithms, programs, days.
_KNOWN = re.compile(
    r"\A(?:v?\d+(?:[.-]\d+)+|\d+-[a-z]|[0-9a-f]{7,12}\b|1password|keepass|p[a4]ss|argon2|sha-?\d|md5|pbkdf2|oauth2|base\d\d|ed25519"
    r"|rsa\d|aes)",
    re.IGNORECASE,
)


@cache
def _near() -> re.Pattern[str]:
    return re.compile(_fill("<NEAR>"), re.VERBOSE | re.IGNORECASE)


# A line of short words alone, as a wallet is written down: https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki
_WALLET = re.compile(r"^(?:(?:\d\d?[.)] ?)?[a-z]{3,8} ){11,23}(?:\d\d?[.)] ?)?[a-z]{3,8}$", re.MULTILINE)
WALLET_WORDS = (12, 15, 18, 21, 24)

# The numbers of cards, which begin with 2, 4, 5, 6 or 34, 37, and of bank accounts, in groups or in one.
_ACCOUNT = re.compile(
    r"(?<![\w.-])(?:(?:[2456]\d{3}[ -]?\d{4}[ -]?\d{4}[ -]?\d{4}|3[47]\d{2}[ -]?\d{6}[ -]?\d{5})"
    r"|[A-Z]{2}\d\d(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)(?![\w-])",
    re.ASCII,
)
