"""Languages of notes and questions: their function words, which language a text is in, and stems of its words; pure.

English stems are the keyword index's own. For the others, the store keeps which of its words share a stem, and a question looks
for all of them. The stemmers are Snowball's (https://snowballstem.org).
"""

# ruff: noqa: SIM905 -- lists of words are five times shorter as text
from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

Language = Literal["en", "de", "es", "fr"]

# Function words and the scaffolding of questions. A question of these words alone asks for nothing.
# fmt: off
STOP_WORDS: Mapping[Language, frozenset[str]] = {
    "en": frozenset("""
    a about above after again against ain all also am an and any anybody anyone anything are aren as at be
    because been before being below between both but by can cannot could couldn d did didn do does doesn doing
    don done down during each either else ever every few for from further get gets getting give given go goes
    going gone got had hadn has hasn have haven having he hello her here hers herself hey hi him himself his how
    i if in into is isn it its itself just kind let like ll m made make many may me might mine more most much
    must mustn my myself need needn neither no nor not now o of off ok okay on once one only or other ought our
    ours ourselves out over own please re really s said same say says shall shan she should shouldn so some
    somebody someone something still such t take tell than thank thanks that the their theirs them themselves
    then there these they thing things this those though through to too under until up upon us use used using ve
    very was wasn we were weren what when where whether which while who whom whose why will with won would
    wouldn y yes yet you your yours yourself yourselves
    """.split()),
    "de": frozenset("""
    aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes auch auf aus bei beim bereits
    bin bis bisher bist bitte da dabei dadurch dafür dagegen daher damit danach daran darauf daraus darf darin darüber darum
    das dass davon davor dazu dein deine deinem deinen deiner dem den denen denn der deren des dessen dich die dies diese
    diesem diesen dieser dieses dir doch dort du durch dürfen ein eine einem einen einer eines einige einigen er es etwas
    euch euer eure für fuer gab gegen gehabt gemacht getan gewesen gibt hab habe haben habt hast hat hatte hatten hattest
    hier ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist ja je jede jedem jeden jeder jedes jemand jetzt
    kann kannst kein keine keinem keinen keiner können koennen konnte konnten könnte könnten machen macht machte man manche
    mein meine meinem meinen meiner mich mir mit muss musst musste müssen muessen nach nein nicht nichts noch nun nur ob
    oder ohne schon sehr sei sein seine seinem seinen seiner seit sich sie sind so soll sollen sollte sollten solche solchen
    sonst tun tut über ueber um und uns unser unsere unserem unseren unserer unter viel viele vielen vom von vor wann war
    waren warst warum was weil welche welchem welchen welcher welches wem wen wenn wer werde werden wessen weshalb wie
    wieder wieso wieviel will wir wird wirst wo wobei wodurch wofür wogegen woher wohin womit wonach woran worauf woraus
    worin worüber worum wovon wozu wollen wollte wollten wurde wurden würde würden zu zum zur zwischen
    """.split()),
    "es": frozenset("""
    a adonde adónde ahora al algo alguien algún alguna algunas alguno algunos ante antes aquel aquella aquellas aquello
    aquellos aquí así aun aún aunque cada casi como cómo con contra cual cuál cuales cuáles cualquier cuando cuándo cuanta
    cuánta cuantas cuántas cuanto cuánto cuantos cuántos de del desde donde dónde durante e el él ella ellas ellos en
    entonces entre era eran éramos eres es esa esas ese eso esos esta está estaba estábamos estaban estado estamos estando
    están estar estas estás este esto estos estoy estuve estuvieron estuvimos estuvo fue fueron fui fuimos ha haber había
    habíamos habían habrá hubo hace hacen hacer haces hacía hago han has hasta hay haya he hecho hemos hizo hicieron iba ir
    la las le les lo los más mas me mi mí mía mío mis mismo mucha muchas mucho muchos muy nada ni no nos nosotras nosotros
    nuestra nuestras nuestro nuestros o os otra otras otro otros para pero poco podemos poder podía porque por pudo puede
    pueden puedo pues que qué quien quién quienes quiénes se sea según ser será si sí sido sin sobre sois solo sólo somos
    son soy su sus suya suyo también tampoco tan tanto te tenemos tener tengo tenía ti tiene tienen tienes toda todas
    todavía todo todos tras tu tú tus tuve tuvieron tuvimos tuvo u un una unas uno unos usted ustedes va vamos van voy
    vosotros vuestra vuestro y ya yo
    """.split()),
    "fr": frozenset("""
    à a ai ainsi alors après as au aucun aucune auquel aura aurait auront aussi autre autres aux avaient avais avait avant
    avec avez avions avoir avons ayant c car ce ceci cela celle celles celui ces cet cette ceux chaque chez combien comme
    comment d dans de depuis des dès desquels déjà dit doit doivent donc dont du duquel elle elles en encore entre es est et
    étaient étais était etait étant être etre eu eux fait faire faisait font faut fut il ils j jamais je jusqu jusque l la
    là laquelle le lequel les lesquelles lesquels leur leurs lorsque lui m ma mais me même mêmes mes moi moins mon n ne ni
    nos notre nous on ont ou où par parce pas pendant peu peut peuvent plus pour pourquoi pourrait puis puisque qu quand
    quant que quel quelle quelles quelqu quelque quelques quels qui quoi s sa sans se sera seront ses si soit sommes son
    sont sous suis sur t ta te tes toi ton tous tout toute toutes très tu un une va vais vas vers veulent veut voici voilà
    vont vos votre vous y ça
    """.split()),
}
# Words that begin a question.
OPENERS: Mapping[Language, frozenset[str]] = {
    "en": frozenset("""
    what who whom whose when where which why how is are was were do does did has have had can could will would should
    """.split()),
    "de": frozenset("""
    was wer wem wen wessen wann wo woher wohin warum wieso weshalb wie wieviel welche welchem welchen welcher welches womit
    wofür woran worauf worüber worum wovon wozu ist sind war waren hat habe haben hatte kann können soll sollte wird wurde
    gibt
    """.split()),
    "es": frozenset("""
    qué que quién quien quiénes quienes cuándo cuando dónde donde adónde adonde cuál cual cuáles cuales cómo como cuánto
    cuanto cuánta cuanta cuántos cuantos cuántas cuantas hay es está son fue puede tengo tiene
    """.split()),
    "fr": frozenset("""
    qui que quoi quand où comment pourquoi combien quel quelle quels quelles qu est a ont sont était faut peut
    """.split()),
}
# fmt: on
_STEMMERS: Mapping[Language, str] = {"de": "german", "es": "spanish", "fr": "french"}
STEMMED: Sequence[Language] = tuple(_STEMMERS)  # languages whose stems are not the keyword index's own
# Not counted when a language is detected: words of English notes, too.
_ALSO_ENGLISH = frozenset(
    "man war hat bin gab hast sin son sea van ante solo era mis car sans pour plus chez tout des".split()
)
_OWN = {language: STOP_WORDS[language] - STOP_WORDS["en"] - _ALSO_ENGLISH for language in STEMMED}
_NOT_OWN = {language: STOP_WORDS["en"] - STOP_WORDS[language] for language in STEMMED}
_CERTAIN = 2  # function words that English lacks: one alone may be a name or an English word, as "war" and "mit" are
_ACCENTED = re.compile("[\u00c0-\u024f]")  # Latin letters beyond ASCII
_WORD = re.compile(r"[^\W\d_]{3,}")
_SAMPLE = 60  # words of a text, by which its language is told
_LONGEST = 40  # letters; nobody inflects longer words, and base64 has them


class Stemmed(NamedTuple):
    """A word of a text, in lower case, with its stem in a language."""

    language: Language
    stem: str
    word: str


def detect(words: Collection[str], *, first: str = "") -> Language | None:
    """Detect the language of words in lower case by their function words; None if they hold none of any language.

    It is another one than English if they hold two that English has not, and fewer that only English has. Latin
    letters beyond ASCII count as one, and so does a question word in front.

    Args:
        words: Of a text.
        first: The word with which it begins, if it may be a question.
    """
    known = words if isinstance(words, set) else set(words)
    found, most = None, _CERTAIN - 1
    for language, own in _OWN.items():
        count = len(own & known) + (first in OPENERS[language])
        if 0 < count < _CERTAIN:
            count += any(map(_ACCENTED.search, known))
        if count > most and count > len(_NOT_OWN[language] & known):
            found, most = language, count
    return found or ("en" if not known.isdisjoint(STOP_WORDS["en"]) else None)


def stem_text(text: str, seen: dict[Language, set[str]] | None = None) -> list[Stemmed]:
    """Return the distinct words of a text with their stems; none of a text that begins in English or in no known language.

    Args:
        text: Any text.
        seen: What was seen in former texts, by language; words of that are left out, and what is seen here is added.
    """
    language = detect({run.lower() for run in text.split(maxsplit=_SAMPLE)[:_SAMPLE]})
    if language is None or language not in _STEMMERS:
        return []
    runs = set(text.split())
    if seen is not None:
        former = seen.setdefault(language, set())
        runs -= former
        former |= runs
    if not runs:
        return []
    words = set(_WORD.findall(unicodedata.normalize("NFC", " ".join(runs).lower())))
    return stem_words(words - STOP_WORDS[language], language)


def stem_words(words: Iterable[str], language: Language) -> list[Stemmed]:
    """Return words in lower case with their stems in a language of `STEMMED`; very long ones and numbers are left out."""
    from Stemmer import Stemmer

    several = [word for word in words if len(word) <= _LONGEST and word.isalpha()]
    stems = Stemmer(_STEMMERS[language]).stemWords(several)  # a stemmer is made in 3 microseconds and is of one thread
    return [Stemmed(language, *each) for each in zip(stems, several, strict=True)]
