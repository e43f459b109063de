"""Questions about how things are and how they were, and lines that tell a change; pure.

The words are written by hand: the usual translations of now, currently, still, today, these days, at the
moment; of before, previously, formerly, originally, initially, at first, in the past; and of from now on, as of, no longer,
instead, new, and of change, move, switch, replace, raise, lower, rise, fall, postpone, extend, bring forward, take over; of no
longer, not any more, not after all, and of the verbs give up, sell, stop, quit, cancel, call off, part. What is unsure, a state
or a habit is told by the words in stance.txt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from memory_core.text.languages import Language
from memory_core.text.terms import classify, detect_language

Time = Literal["now", "then"]

_NOW: Mapping[Language, str] = {
    "en": r"""
        now|nowadays|currently|current|presently|at\ present|at\ the\ moment|still|today|these\ days|any\ ?more
        | latest|newest
    """,
    "de": r"""
        jetzt|nun|nunmehr|aktuell(?:e[mnrs]?)?|derzeit|derzeitige[mnrs]?|momentan|gegenwärtig
        | im\ (?:moment|augenblick)|zurzeit|zur\ zeit|heute|heutzutage|noch|inzwischen|mittlerweile|neueste[mnrs]?
    """,
    "es": r"""
        ahora|actual|actuales|actualmente|hoy\ (?:en\ día|por\ hoy)|hoy|todavía|aún|en\ este\ momento|por\ el\ momento
    """,
    "fr": r"""
        maintenant|actuel(?:le)?s?|actuellement|à\ présent|en\ ce\ moment|pour\ le\ moment|aujourd'hui|encore
        | désormais
    """,
    "pt": r"""
        agora|atual|atuais|atualmente|hoje\ em\ dia|hoje|ainda|neste\ momento|no\ momento
    """,
    "it": r"""
        ora|adesso|attuale|attuali|attualmente|oggi|oggigiorno|ancora|in\ questo\ momento|al\ momento
    """,
    "nl": r"""
        nu|thans|huidige?|momenteel|tegenwoordig|vandaag|nog|op\ dit\ moment|op\ het\ moment
    """,
    "ru": r"""
        сейчас|теперь|ныне|сегодня|ещё|еще|пока|текущ\w+|нынешн\w+|в\ настоящее\ время|в\ данный\ момент
    """,
}
_THEN: Mapping[Language, str] = {
    "en": r"""
        before|beforehand|previous|previously|former|formerly|earlier|original|originally|initial|initially
        | at\ first|used\ to|in\ the\ past|in\ the\ beginning|back\ (?:in|then)|once|old|prior
    """,
    "de": r"""
        vorher|vorherige[mnrs]?|vor|zuvor|früher|frühere[mnrs]?|ehemalige?[mnrs]?|ehemals|ursprünglich
        | ursprüngliche[mnrs]?|anfangs|am\ anfang|zu\ anfang|zunächst|einst|damals|bisher|bisherige[mnrs]?
        | alte[mnrs]?
    """,
    "es": r"""
        antes|anterior|anteriores|anteriormente|previo|previa|previamente|original|originalmente|inicial
        | inicialmente|al\ principio|al\ comienzo|antaño|antigu[oa]s?|antiguamente|entonces
    """,
    "fr": r"""
        avant|auparavant|autrefois|jadis|anciens?|anciennes?|anciennement|précédente?s?|précédemment|à\ l'origine
        | initial|initiale|initialement|originellement|au\ début|au\ départ|d'abord|alors
    """,
    "pt": r"""
        antes|anterior|anteriores|anteriormente|prévi[oa]|previamente|original|originalmente|inicial|inicialmente
        | no\ início|no\ começo|no\ princípio|outrora|antig[oa]s?|antigamente
    """,
    "it": r"""
        prima|precedente|precedenti|precedentemente|in\ precedenza|originario|originale|originariamente|in\ origine
        | iniziale|inizialmente|all'inizio|un\ tempo|una\ volta|vecchi[oa]|ex|allora
    """,
    "nl": r"""
        eerder|eerdere|voor|voorheen|vorige?|vroeger|vroegere|oorspronkelijke?|aanvankelijke?|in\ het\ begin
        | destijds|voormalige?|toen|oude
    """,
    "ru": r"""
        раньше|прежде|прежн\w+|ранее|до|первоначальн\w+|изначальн\w+|сначала|вначале|сперва|бывш\w+|тогда|стар\w+
    """,
}
# Tenses of what has happened, of which neither the present nor an earlier state is asked.
_PAST: Mapping[Language, str] = {
    "en": r"""
        did|was|were|had|been|ago|yesterday|last
        | (?:has|have)\ (?:\w+\ ){0,3}(?:\w+ed|been|done|gone|got|made|said|seen|taken|told|written)
    """,
    "de": r"""
        war|waren|warst|hatten?|hattest|wurden?|gestern|letzte[mnrs]?|\w*ge\w{2,}(?:t|en)\W*$
        | (?:be|ver|er|ent|zer)\w+(?:t|en)\W*$
    """,
    "es": r"""
        \w+(?:ó|aron|ieron|aste|iste)|fue|fui|fuimos|era|eran|estaban?|había|habían|tenían?|hubo|\w+aban?
        | (?:ha|he|han|hemos)\ \w+|hic\w+|hizo|(?:estuv|tuv|pus|dij|traj|anduv|quis|pud)\w+|vin(?:e|o|imos|ieron)
        | di|dio|dimos|vi|vio|vimos|íbamos|iban?
    """,
    "fr": r"""
        étaient|étais|était|avaient|avais|avait|hier|\w+(?:aient|ait)
        | (?:a|ai|as|avons|avez|ont)[\ -].*(?:é|és|ée|ées|i|is|it|u|us|ue)
    """,
    "pt": r"""
        foi|fui|foram|era|eram|estava|estavam|tinham?|havia|\w+(?:ou|eu|iu|aram|eram|iram|ava|avam)|ontem
        | fi[zx]\w*|fez|(?:estiv|tiv|pus|diss|troux|quis|pud|soub)\w+|esteve|teve|dei|vi|vimos|vim|viemos
    """,
    "it": r"""
        era|erano|fu|furono|aveva|avevano|ieri|\w+(?:ava|eva|avano|evano)
        | (?:ha|ho|hanno|abbiamo|hai)\ .*(?:to|ta|ti|te|so|sa)
    """,
    "nl": r"""
        was|waren|had|hadden|werd|werden|gisteren|vorige|ge\w+(?:d|t|en)\W*$
    """,
    "ru": r"""
        был|была|было|были|вчера|\w+(?:л|ла|ло|ли|лся|лась|лись)
    """,
}
_CHANGE = r"""
    now|henceforth|as\ (?:of|from)|from\ (?:now|today|tonight|tomorrow|next|this|the|\w+day|\d)|effective|starting
    | no\ longer|not\ any\ ?more|instead|new|(?:chang|mov|replac|rais|reduc|increas)(?:es?|ed|ing)
    | switch(?:es|ed|ing)?|lower(?:s|ed)?|postponed?|rescheduled?|(?:brought|brings?)\ forward|(?:put|pushed)\ back
    | (?:took|takes?|taking)\ over|jetzt|nun|nunmehr|künftig|fortan
    | ab\ (?:sofort|heute|morgen|jetzt|nächste\w*|dem|der|\w+tag|mittwoch|\d)|seit\ (?:heute|gestern)|nicht\ mehr
    | kein\w*\ mehr|stattdessen|statt|neu(?:e[mnrs]?)?|(?:ge)?ändert|umgezogen|zieht\ um|gewechselt|wechselt|ersetzt
    | erhöht|gesenkt|verlegt|verschoben|vorgezogen|umgestellt|übernimmt|übernommen|gestiegen|gesunken|maintenant
    | désormais|dorénavant|à\ (?:partir|compter)\ d[eu']|à\ partir
    | dès\ (?:demain|maintenant|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)|n(?:e\ |')\w+\ plus
    | nouve(?:au|aux|l|lle|lles)|au\ lieu|à\ la\ place|chang(?:e|é|ée|és|ées|ent)|déménag\w+|remplac\w+|augment\w+
    | baiss\w+|report(?:é|ée|és|ées)|repouss\w+|avancé\w*|déplacé\w*|pass(?:e|é|ent)\ (?:à|au|de)|ahora|a\ partir\ de[l]?
    | desde\ (?:hoy|ahora|mañana)|en\ adelante|ya\ no|nuev[oa]s?|en\ (?:vez|lugar)\ de|cambi\w+
    | mud(?:a|ó|ado|an|amos)|traslad\w+
    | sustitu\w+|reemplaz\w+|sub(?:e|ió|ido|en)|baj(?:a|ó|ado|an)|aument\w+|aplaz\w+|adelant\w+|pas(?:a|ó|an)\ a|ora
    | adesso|ormai|d'ora\ in\ (?:poi|avanti)|da\ (?:oggi|domani|\w+dì)|a\ partire|non\ \w+\ più|nuov[oaie]|invece
    | al\ posto|trasferit\w+|spostat\w+|sostitui\w+|ridott\w+|rimandat\w+|rinviat\w+|anticipat\w+|agora
    | a\ partir\ d[eoa]|desde\ hoje|em\ diante|já\ não|não\ \w+\ mais|nov[oa]s?|em\ (?:vez|lugar)\ de|troc\w+
    | baix(?:a|ou)|reduz\w+|adi(?:ou|ad\w+)|antecip\w+|nu|voortaan|vanaf|met\ ingang\ van|per\ direct
    | niet\ (?:meer|langer)|geen\ \w+\ meer|nieuwe?|in\ plaats|verander\w+|gewijzigd|wijzig\w+|verhuis\w+|verplaatst
    | verzet|vervang\w+|verhoogd|verlaagd|uitgesteld|overgestapt|overgenomen|теперь|отныне
    | с\ (?:сегодняшнего|завтрашнего|\d)|больше\ не|вместо|нов\w+|измен\w+|перее\w+|перенес\w+|замен\w+|повы\w+
    | сниз\w+
    | (?:go|goes|went|gone|is|are)\ (?:up|down|back)|rises?|rose|risen|falls?|fell|drops?|dropped|put\ off
    | extend(?:s|ed)?|shorten(?:s|ed)?
    | steigt|steigen|stieg|sinkt|sinken|sank|verlängert|verkürzt|verschiebt|wechsle|wechseln|zieh(?:e|en)\ um
    | s'élève|mont(?:e|é)|prolong\w+|passer(?:a|ont)|retras\w+|sale|salita|scende|scesa|prorog\w+|slitta\w*
    | sobe|subiu|desce|desceu|prorrog\w+|stijgt|steeg|daalt|daalde|verlengd|verschoven|выр\w+|упал\w*|продл\w+
"""

# Negations that tell a change: "no longer", and "not X but Y".
_REPLACES = r"""
    no\ longer|not\ any\ ?more
    | (?:not|nicht|kein\w*|no|non|não|niet|geen|не|pas)\b[^.;!?]{1,60}\b(?:but|sondern|sino|ma|mas|maar|а|mais)
    | nicht\ (?:nur|mehr)|kein\w*\ mehr|ya\ no|n(?:e\ |')\w+\ plus|non\ \w+\ più|já\ não|não\ \w+\ mais
    | niet\ (?:meer|langer)|geen\ \w+\ meer|больше\ не
    | not\ until|(?<=,\ )(?:and\ |und\ |et\ |y\ |e\ |en\ |и\ )?(?:not|nicht|no|non|não|niet|не|pas)\b[^,.;!?]{1,40}\W?$
"""
# What somebody says is over: denials with "any more", "after all" and their translations, and verbs of giving up, selling,
# stopping, cancelling and parting in the tenses in which people tell it. They tell no change of a line of a
# note: where things are sold and cancelled every day, a line with such a word is often about something else.
_END = r"""
    no\ longer|(?:not|never|\w+n't)\b[^.;]{0,60}\b(?:any\ ?more|after\ all|that\ was\ (?:a\ mistake|an\ error|wrong))
    | (?:nicht|kein\w*)\b[^.;]{0,60}\bdas\ war\ (?:ein\ (?:fehler|irrtum)|falsch)|(?:gave|giv(?:e|es|en|ing))\ up
    | quit(?:s|ting)?|stopped\ \w+ing|sold\ (?:my|our|his|her|their|the)|(?:got|getting|gotten)\ rid\ of
    | cancel(?:l?ed|l?ing)|called\ off|broke\ up|split\ up|dropped\ out|let\ go\ of|retired\ from|moved\ out
    | (?:have|has|am|are|is|'ve|'m|'re)\ (?:done\ with|finished\ with)|gave\b[^.;,]{0,40}\baway
    | (?:ended|terminated|closed)\ (?:my|our|the\ (?:contract|lease|account|subscription|membership))
    | nicht\ mehr|kein\w*\b[^.;,]{0,40}\bmehr|nie\ (?:mehr|wieder)|doch\ (?:nicht|kein\w*)|gekündigt|aufgegeben
    | geben?\b[^.;,]{0,40}\bauf|aufgehört|hören?\b[^.;,]{0,40}\bauf|beendet|abgeschafft|abgemeldet|abbestellt|abgesagt
    | (?:den|die|das|mein\w*|unser\w*)\b[^.;,]{0,40}\bverkauft|(?:uns|sich)\ getrennt|storniert|weggegeben|verschenkt
    | ausgezogen|n(?:e\ |')\w+(?:\ \w+)?\ plus|plus\ jamais|finalement\b[^.;]{0,40}\bpas|résiliée?s?|arrêtée?s?|arrête\ de
    | abandonnée?s?|pas\b[^.;]{0,60}\bc'était\ (?:une\ erreur|faux)|no\b[^.;]{0,60}\b(?:fue|era)\ (?:un\ error|falso)
    | vendue?s?\ (?:les?|la|l'|mon|ma|mes|notre|nos|son|sa)|renoncé|quitté|annulée?s?|mis\ fin|séparée?s?|rompu
    | ya\ no|no\ \w+\ más|al\ final\ no|cancel(?:é|ado|amos|ó)|(?:he|hemos)\ dejado|dejé|dejamos\ de
    | vend(?:í|imos|ido|ió)\ (?:el|la|los|las|mi|mis|nuestr\w+|su)|renunci(?:é|amos|ado)|abandon(?:é|amos|ado)
    | (?:dado|di|dimos)\ de\ baja|rompí|roto\ con|(?:nos\ )?separamos
"""


def find_asked_time(text: str) -> Time | None:
    """Tell if a question asks how things are, "now", or how they were before, "then"; None of what has happened.

    Nor do statements ask, and lists of words without a question mark or a word such as "now".

    >>> find_asked_time("Where does Ann live?"), find_asked_time("Where did she live before?"), find_asked_time("Who was ill?")
    ('now', 'then', None)
    """
    kind, asks = classify(text), text.rstrip().endswith(("?", "？"))
    if kind == "statement" and not asks:
        return None
    language = detect_language(text) or "en"
    lowered = text.lower().replace("’", "'")
    if _compile(_THEN[language]).search(lowered):
        return "then"
    if _compile(_NOW[language]).search(lowered):
        return "now"
    asks = asks or kind == "question"
    return "now" if asks and not _compile(_PAST[language]).search(lowered) else None


def find_present(text: str) -> set[str]:
    """Return the words with which a question asks how things are now: no note need hold them.

    >>> sorted(find_present("Where does Ann live at the moment?"))
    ['at', 'moment', 'the']
    """
    if find_asked_time(text) != "now":
        return set()
    found = _compile(_NOW[detect_language(text) or "en"]).findall(text.lower().replace("’", "'"))
    return {word for each in found for word in re.findall(r"\w+", each)}


def tells_change(text: str) -> bool:
    """Return True if a line says that something is not what it was."""
    return _compile(_CHANGE).search(text.lower()) is not None


def tells_end(text: str) -> bool:
    """Return True if a line says that something is over: given up, sold, cancelled, or not so any more.

    >>> tells_end("We sold the boat."), tells_end("Ich rauche nicht mehr."), tells_end("We bought a boat.")
    (True, True, False)
    """
    return _compile(_END).search(text.lower().replace("’", "'")) is not None


def find_stance(text: str, language: Language) -> Literal["unsure", "state"] | None:
    """Tell if a sentence supposes, wishes or denies something, "unsure", or says how things are, "state"; None of what happened.

    >>> find_stance("We might move to Mondays", "en"), find_stance("The class is no longer on Mondays", "en")
    ('unsure', 'state')
    """
    if _compile_words(language, "unsure").search(_compile(_REPLACES).sub(" ", text.lower())):
        return "unsure"
    stands = _compile_words(language, "states").search(text) or _compile_words(language, "habits").search(text)
    return "state" if stands else None


def tells_past(text: str, language: Language) -> bool:
    """Return True if a sentence in another language than English, of which the verbs are known, tells what has happened."""
    past = _compile(_PAST[language]).search(text.lower())
    first = language == "es" and re.match(r"\W*\w{3,}(?:é|í)\b", text)  # "pagué", "salí"
    return language != "en" and bool(past or first)


def tells_leave(text: str, language: Language) -> bool:
    """Return True if a text says that somebody leaves a post, that a business closes, or that another one takes over."""
    return _compile_words(language, "leave").search(text) is not None


def find_turns(text: str, language: Language) -> Iterator[int]:
    """Yield where a sentence says how something is, or that it changes: what stands before is its subject."""
    for found in (*_compile_words(language, "states").finditer(text), *_compile(_CHANGE).finditer(text.lower())):
        yield found.start()


@cache
def _compile_words(language: Language, name: Literal["unsure", "states", "habits", "leave"]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(list_words(language, name))})(?!\w)", re.IGNORECASE)


@cache
def list_words(language: str, name: str) -> Sequence[str]:
    """Return the words of a language that stand under a name in stance.txt."""
    text = (Path(__file__).parent / "stance.txt").read_text(encoding="utf-8")
    section = text.partition(f"[{language}]\n")[2].partition("\n[")[0]
    return section.partition(f"{name}: ")[2].partition("\n")[0].split("; ")


def names_end(word: str) -> bool:
    """Return True if a word is one of those by which a line says that something is over, in another form perhaps.

    >>> names_end("verkauft"), names_end("cancelled"), names_end("boat")
    (True, True, False)
    """
    listed = _list_end_words()
    return word in listed or any(
        (len(each) >= 4 and word.startswith(each)) or (len(word) >= 5 and each.startswith(word)) for each in listed
    )


@cache
def _list_end_words() -> frozenset[str]:
    return frozenset(re.findall(r"[^\W\d_]{2,}", re.sub(r"\\.", " ", _END)))


@cache
def _compile(words: str) -> re.Pattern[str]:
    """Compile a pattern for texts in lower case: to ignore case takes `re` four times as long."""
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.VERBOSE)
