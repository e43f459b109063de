"""Languages of notes and questions: their function words, which language a text is in, and stems of its words; pure.

English stems are the keyword index's own. For the others, the store keeps which of its words share a stem, and a question looks
for all of them. The stemmers are Snowball's (https://snowballstem.org). Forms of irregular verbs, of which stemmers know nothing,
share the infinitive: the tables in `verbs` name their sources.
"""

# ruff: noqa: SIM905 -- lists of words are five times shorter as text
from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from memory_core.text.folding import clean
from memory_core.text.spelling import (
    find_camels,
    find_joined,
    find_prefixed,
    is_spaced,
    list_cores,
    make_spelling_key,
    split_camel,
)

Language = Literal["en", "de", "es", "fr", "pt", "it", "nl", "ru"]
# A relation of words, for which the store keeps those of the notes: the same stem or verb in a language, or the same key of its
# spellings; "mirrored" keeps the keys backwards, so that words are found by their ends; "part" keeps names by their parts, and
# "joined" what is written in pieces by what it is in one.
Relation = Language | Literal["spelt", "mirrored", "part", "joined"]

# Function words and the scaffolding of questions, such as "give me". A question of these words alone asks for nothing.
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
    gib nenn nenne sag sage zeig zeige weißt
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
    vosotros vuestra vuestro y ya yo dame danos dime dinos muéstrame enséñame recuérdame cuéntame indícame sabes
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
    vont vos votre vous y ça dis donne indique sais
    """.split()),
    "pt": frozenset("""
    a agora ainda algo algum alguma algumas alguns alguém ante antes ao aos apenas após aquela aquelas aquele aqueles aqui
    aquilo as até bem cada com como contra cuja cujas cujo cujos da daquela daquele das de dela delas dele deles depois
    desde dessa desse desta deste disso disto do dos durante e ela elas ele eles em enquanto entre então era eram essa essas
    esse esses esta estamos estas estava estavam este esteja estes esteve estive estivemos estiveram estou está estão eu faz
    fazem fazer fazia fez fiz fizemos fizeram foi fomos for foram fosse fui haver havia houve há isso isto já la lhe lhes lo
    logo lá mais mas me mesma mesmo meu meus mim minha minhas muita muitas muito muitos na nada nas nem nenhum nenhuma nessa
    nesse nesta neste no nos nossa nossas nosso nossos num numa nunca não nós o onde os ou outra outras outro outros para
    pela pelas pelo pelos pode podem podemos poder podia pois por porque porquê posso pouca pouco pôde quais qual qualquer
    quando quanta quantas quanto quantos que quem quê se seja sem sempre ser seria será seu seus sido sob sobre somos sou
    sua suas são só também tanto te tem temos tenho ter teu teus teve tinha tinham tive tivemos tiveram toda todas todo
    todos tu tua tudo têm um uma umas uns vai vamos você vocês vos vou vão à às é és
    diga diz dá dê sabes
    """.split()),
    "it": frozenset("""
    a abbiamo ad adesso agli ai al alcuna alcune alcuni alcuno alla alle allo allora altra altre altri altro anche ancora
    anzi avere avete aveva avevamo avevano avevo avrà c che chi ci ciò coi col come con contro cosa così cui d da dagli dai
    dal dalla dalle dallo degli dei del dell della delle dello dentro deve devo devono di dopo dov dove dovuto due dunque
    durante e ebbe ecco ed era erano eravamo ero essa esse essere essi fa facciamo faccio fanno fare fatta fatto fino fosse
    fra fu furono già gli ha hai hanno ho i il in invece io l la le lei li lo loro lui là lì ma me mentre mi mia mie miei
    mio molta molte molti molto ne negli nei nel nell nella nelle nello nessun nessuna nessuno niente no noi non nostra
    nostre nostri nostro nulla né o od ogni ognuno oppure ora per perchè perché perciò però più poca poche pochi poco poi
    possiamo posso possono prima può qual qualche qualcosa qualcuno quale quali quando quant quanta quante quanti quanto
    quasi quel quell quella quelle quelli quello quest questa queste questi questo qui quindi saranno sarà se sei sempre
    senza si sia siamo siete sono sopra sotto sta stanno stata state stati stato stava su sua sue sugli sui sul sull sulla
    sulle sullo suo suoi sì tanta tante tanti tanto te ti tra troppo tu tua tue tuo tuoi tutta tutte tutti tutto un una uno
    va vai vanno vi voi vostra vostre vostri vostro è dimmi dammi mostrami ricordami raccontami indicami sai
    """.split()),
    "nl": frozenset("""
    aan achter af al alle alleen alles als altijd ander andere anders beide ben bent bij bijna binnen boven buiten daar
    daarna daarom daarvan dan dat de deden deed der deze dezelfde die dit doch doe doen doet door dus duurt een eens elk
    elke en enkele er erg ergens ervan even ga gaan gaat gedaan geen gehad geweest geworden ging gingen haar had hadden heb
    hebben hebt heeft hem hen het hier hij hoe hoelang hoeveel hun iedere iedereen iemand iets ik in is ja je jij jou jouw
    jullie kan kon konden kun kunnen kunt laat maakt maar maken me mee meer men met mij mijn mocht moest moesten moet moeten
    mogen na naar naast nadat nee neer niemand niet niets niks nog nooit nu of om omdat onder ons ook op over pas sinds
    staat te tegen tijdens toch toen tot tussen uit uw van vanaf vanwege veel voor vooral voordat waar waaraan waarbij
    waarheen waarin waarmee waarom waaronder waarop waarover waarvan waarvoor wanneer waren was wat we weer wel welk welke
    werd werden wie wiens wij wil wilde willen word worden wordt wou zal ze zeer zei zelf zich zij zijn zo zoals zonder zou
    zouden zullen zult één geef noem toon vertel zeg weet
    """.split()),
    "ru": frozenset("""
    а без более больше будем будет будете будешь буду будут бы был была были было быть в вам вами вас ваш ваша ваше вашего
    вашей ваши вдруг ведь весь во вот все всегда всего всей всем всеми всех всю всё вы где да даже для до другая другие
    другого другой другую его ее ей ему если есть еще ещё ею её же за зачем здесь и из или им ими иногда их к каждая каждый
    как какая какие каким каких какого какое какой каком какому какую кем когда кого ком кому конечно которая которого
    которое которой которую которые который которых кто куда ли либо лишь между меня мне много мной мог могла могли могут
    моего моей моем моему можем может можно мои моих мой мою моя мы на над надо нам нами нас наш наша наше нашего нашей
    нашем нашему наши наших нашу не него нее ней нельзя нем нему несколько нет неужели неё нибудь ним ними них ничего но ну
    нужна нужно нём о об обо один одна однако одно одной одну около он она они оно от откуда отчего очень перед по под пока
    после потом потому почему почти при про раз разве с сам сама сами само свое своего своей своем свои своих свой свою своя
    себе себя сегодня сейчас сколько со совсем стал стала стали та так такая также такие такой такую там твой твоя те тебе
    тебя тем теперь то тобой того тоже той только том тому тот тоту тут ты у уж уже хотя чего чей чем чему через что чтоб
    чтобы чуть чье чьи чья чьё чём эта эти этим этих это этого этой этом этому этот эту я
    дай назови напомни подскажи покажи скажи знаешь
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
    "pt": frozenset("""
    que quê quem quando onde como porque porquê qual quais quanto quanta quantos quantas há é está foi são pode tem tenho
    """.split()),
    "it": frozenset("""
    che chi cosa quando dove dov come perché perchè qual quale quali quanto quanta quanti quante quant è sono era ha hai può
    """.split()),
    "nl": frozenset("""
    wat wie wiens wanneer waar waaraan waarheen waarin waarmee waarom waarop waarover waarvan waarvoor hoe hoelang hoeveel
    welk welke is zijn was heeft hebben had kan moet wordt werd
    """.split()),
    "ru": frozenset("""
    что чего чему чем кто кого кому кем где куда откуда когда почему зачем отчего как какая какие каким каких какого какое
    какой каком какую сколько чей чья чьё чьи есть был была были было можно нужно
    """.split()),
}
# fmt: on
STEMMERS: Mapping[Language, str] = {
    "en": "english",
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "pt": "portuguese",
    "it": "italian",
    "nl": "dutch",
    "ru": "russian",
}
# Languages whose stems are not the keyword index's own.
STEMMED: Sequence[Language] = tuple(language for language in STEMMERS if language != "en")
# Not counted when a language is detected: words of English notes, too.
_ALSO_ENGLISH = frozenset(
    """
    man war hat bin gab hast sin son sea van ante solo era mis car sans pour plus chez tout des per come due fare
    via sob door hen elk dan ben men pas
    """.split()
)
_OWN = {language: STOP_WORDS[language] - STOP_WORDS["en"] - _ALSO_ENGLISH for language in STEMMED}
_NOT_OWN = {language: STOP_WORDS["en"] - STOP_WORDS[language] for language in STEMMED}
_CERTAIN = 2  # function words that English lacks: one alone may be a name or an English word, as "war" and "mit" are
_ACCENTED = re.compile("[\u00c0-\u024f\u0400-\u04ff]")  # Latin letters beyond ASCII, and Cyrillic ones
_WORD = re.compile(r"[^\W\d_]{3,}")
_SAMPLE = 60  # words of a text, by which its language is told
_LONGEST = 40  # letters; nobody inflects longer words, and base64 has them


LEAST_PART = 3  # letters of a part by which a name is found
# Nouns whose plural no stemmer leads back: each with its plural, or two of them.
PLURALS: Mapping[Language, str] = {
    "en": """
        man/men woman/women child/children person/people foot/feet tooth/teeth goose/geese mouse/mice louse/lice ox/oxen die/dice
        wolf/wolves knife/knives life/lives wife/wives leaf/leaves half/halves shelf/shelves loaf/loaves thief/thieves calf/calves
        scarf/scarves/scarfs elf/elves self/selves sheaf/sheaves hoof/hooves wharf/wharves
        criterion/criteria phenomenon/phenomena datum/data medium/media bacterium/bacteria curriculum/curricula
        index/indices matrix/matrices vertex/vertices appendix/appendices axis/axes crisis/crises analysis/analyses thesis/theses
        diagnosis/diagnoses hypothesis/hypotheses basis/bases oasis/oases cactus/cacti fungus/fungi nucleus/nuclei
        stimulus/stimuli radius/radii alumnus/alumni larva/larvae formula/formulae corpus/corpora genus/genera
    """,
    "de": """
        atlas/atlanten kaktus/kakteen globus/globen virus/viren museum/museen zentrum/zentren datum/daten konto/konten
        firma/firmen thema/themen album/alben praxis/praxen risiko/risiken villa/villen stadion/stadien studium/studien visum/visa
        lexikon/lexika kriterium/kriterien medium/medien material/materialien prinzip/prinzipien
    """,
    "fr": """
        œil/yeux oeil/yeux ciel/cieux aïeul/aïeux monsieur/messieurs madame/mesdames travail/travaux vitrail/vitraux bail/baux
        corail/coraux
    """,
    "it": """
        uomo/uomini uovo/uova dito/dita braccio/braccia ginocchio/ginocchia labbro/labbra lenzuolo/lenzuola bue/buoi tempio/templi
        paio/paia miglio/miglia osso/ossa
    """,
    "nl": """
        stad/steden schip/schepen lid/leden kind/kinderen ei/eieren blad/bladeren/bladen lied/liederen rund/runderen kalf/kalveren
        lam/lammeren rad/raderen volk/volkeren koe/koeien museum/musea datum/data
    """,
    "pt": "mão/mãos pão/pães cão/cães alemão/alemães capitão/capitães mal/males cônsul/cônsules réptil/répteis fóssil/fósseis",
    "ru": """
        человек/люди ребенок/дети друг/друзья брат/братья сын/сыновья стул/стулья дерево/деревья ухо/уши год/лет мать/матери
        дочь/дочери
    """,
}


class Stemmed(NamedTuple):
    """A word of a text, in lower case, with its stem in a language, "to" and the infinitive of an irregular verb, or its key."""

    language: Relation
    stem: str
    word: str


def detect(words: Collection[str], *, first: str = "") -> Language | None:
    """Detect the language of words in lower case by their function words; None if they hold none of any language.

    It is another one than English if they hold two that English has not, and fewer that only English has. Cyrillic letters
    and Latin ones beyond ASCII count as one, and so does a question word in front. Of several languages, as close as
    Portuguese and Spanish, it is the one with the most function words, at last those counted that English has, too.

    Args:
        words: Of a text.
        first: The word with which it begins, if it may be a question.
    """
    known = words if isinstance(words, set) else set(words)
    found: Language | None = None
    most = _CERTAIN - 1
    for language, own in _OWN.items():
        count = len(own & known) + (first in OPENERS[language])
        if 0 < count < _CERTAIN:
            count += any(map(_ACCENTED.search, known))
        if count < most or count <= len(_NOT_OWN[language] & known):
            continue
        if count > most or (found and len(STOP_WORDS[language] & known) > len(STOP_WORDS[found] & known)):
            found, most = language, count
    return found or ("en" if not known.isdisjoint(STOP_WORDS["en"]) else None)


def relate_words(text: str, seen: dict[Relation, set[str]] | None = None) -> list[Stemmed]:
    """Return what the store keeps of a text's words: what `stem_text` returns, and the keys of their spellings.

    Args:
        text: Any text.
        seen: See `stem_text`.
    """
    runs = set(text.split())
    if seen is not None:
        former = seen.setdefault("spelt", set())
        runs -= former
        former |= runs
    words = [word for word in _find_words(runs) if is_spaced(word)]
    keys = [*map(make_spelling_key, words)]
    spelt = [Stemmed("spelt", *each) for each in zip(keys, words, strict=True)]
    mirrored = [Stemmed("mirrored", key[::-1], word) for key, word in zip(keys, words, strict=True)]
    names = (name for run in runs for name in find_camels(run))
    parts = [
        Stemmed("part", part, name.lower()) for name in names for part in split_camel(name) if len(part) >= LEAST_PART
    ]
    prefixed = {word for run in runs if not run.isascii() for word in find_prefixed(run)}
    parts += [Stemmed("part", core, word) for word in sorted(prefixed) for core in list_cores(word)]
    joined = [Stemmed("joined", *each) for each in find_joined(text)]
    return stem_text(text, seen) + spelt + mirrored + parts + joined


def stem_text(text: str, seen: dict[Relation, set[str]] | None = None) -> list[Stemmed]:
    """Return the distinct words of a text with their stems and verbs; none of a text that begins in no known language.

    Args:
        text: Any text.
        seen: What was seen in former texts, by language; words of that are left out, and what is seen here is added.
    """
    language = detect({run.lower() for run in text.split(maxsplit=_SAMPLE)[:_SAMPLE]})
    if language is None:
        return []
    runs = set(text.split())
    if seen is not None:
        former = seen.setdefault(language, set())
        runs -= former
        former |= runs
    if not runs:
        return []
    return stem_words(_find_words(runs) - STOP_WORDS[language], language)


def _find_words(runs: Iterable[str]) -> set[str]:
    return set(_WORD.findall(clean(" ".join(runs)).lower()))


def stem_words(words: Iterable[str], language: Relation) -> list[Stemmed]:
    """Return words in lower case with their stems in a language, and once more for each irregular verb of which they are forms.

    Very long words and numbers are left out, and English words that are forms of no irregular verb. "spelt" returns their keys.
    """
    if language == "spelt" or language == "mirrored":  # noqa: PLR1714 -- tells the type checker
        return [Stemmed(language, make_spelling_key(word), word) for word in words if is_spaced(word)]
    if language == "part" or language == "joined":  # noqa: PLR1714 -- tells the type checker
        return [Stemmed(language, word, word) for word in words]
    from Stemmer import Stemmer

    several = [word for word in words if len(word) <= _LONGEST and word.isalpha()]
    stems = Stemmer(STEMMERS[language]).stemWords(several)  # a stemmer is made in 3 microseconds and is of one thread
    verbs = [
        Stemmed(language, f"to {infinitive}", word)
        for stem, word in zip(stems, several, strict=True)
        for infinitive in _find_verbs(stem, language)
    ]
    singulars = _find_singulars(language)
    nouns = [Stemmed(language, f"one {one}", word) for word in several if (one := singulars.get(word))]
    return (
        verbs + nouns + [Stemmed(language, *each) for each in zip(stems, several, strict=True) if language in STEMMED]
    )


def is_common(word: str, language: Language | None) -> bool:
    """Return True for a common word in lower case, or a form of an irregular verb, of a language; of any if that is unknown."""
    return any(
        _find_line("words", one, word) or any(each.stem.startswith("to ") for each in stem_words([word], one))
        for one in (STEMMERS if language is None else [language])
    )


@cache
def _find_singulars(language: Language) -> Mapping[str, str]:
    return {word: pair.split("/")[0] for pair in PLURALS.get(language, "").split() for word in pair.split("/")}


def _find_verbs(stem: str, language: Language) -> Sequence[str]:
    """Return the infinitives of the irregular verbs that have a form with a stem."""
    return _find_line("verbs", language, stem)[1:] if language != "ru" else ()


@cache
def _load_table(kind: Literal["verbs", "words"], language: Language) -> str:
    """Return a table: lines that begin with a stem or a word, in the order of those; the first one names the source."""
    return "\n" + (Path(__file__).parent / kind / f"{language}.txt").read_text(encoding="utf-8")


def _find_line(kind: Literal["verbs", "words"], language: Language, wanted: str) -> list[str]:
    """Return the parts of the line that begins with a stem or a word; none if no line does.

    The table is searched as it is: a mapping of the German verbs would take 27 ms and 7 MB in every process.
    """
    table = _load_table(kind, language)

    def read_first(at: int) -> str:
        start = table.index("\n", at) + 1
        return table[start : table.index("\n", start)].partition(" ")[0]

    at = bisect_left(range(table.rindex("\n", 0, -1)), wanted, key=read_first)
    start = table.index("\n", at) + 1
    line = table[start : table.index("\n", start)].split(" ")
    return line if line[0] == wanted else []
