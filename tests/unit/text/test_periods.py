"""Periods in the words of ten languages, and what looks like one and is none."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.text.calendar_words import list_day_spellings
from memory_core.text.dates import Period
from memory_core.text.periods import find_period, find_periods, find_written_day, names_day, names_weekday

TODAY = date(2026, 3, 18)  # a Wednesday
LATER = date(2026, 11, 25)  # a Wednesday, too
AHEAD = re.compile("in three|after next|of the [57]th")  # of what is to come
LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "ru")

MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
}
# A question in each language, with a day in the form that it has there.
ASKED = {
    "en": "What did we do on {day} {month} {year}?",
    "de": "Was haben wir am {day}. {month} {year} gemacht?",
    "fr": "Qu'avons-nous fait le {day} {month} {year} ?",
    "es": "¿Qué hicimos el {day} de {month} de {year}?",
    "it": "Che cosa abbiamo fatto il {day} {month} {year}?",
    "pt": "O que fizemos no dia {day} de {month} de {year}?",
    "nl": "Wat hebben we op {day} {month} {year} gedaan?",
    "ru": "Что мы делали {day} {month} {year} года?",
}
DAYS = st.dates(min_value=date(1950, 1, 1), max_value=date(2090, 12, 31))


def show(found: Period) -> str:
    return f"{found.first}" if found.first == found.last else f"{found.first} {found.last}"


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("what happened on 2026-01-12?", "2026-01-12"),
        ("¿Qué pasó el 12/2?", "2026-02-12"),
        ("Qu'a-t-on mangé le 4/3 ?", "2026-03-04"),
        ("what happened on 2/13?", "2026-02-13"),
        ("what happened on 13/2?", "2026-02-13"),
        ("What did we do at Halloween?", "2025-10-31"),
        ("Was haben wir an Heiligabend gegessen?", "2025-12-24"),
        ("¿Qué hicimos el día de Todos los Santos?", "2025-11-01"),
        ("Wat deden we op oudejaarsavond met de kinderen?", "2025-12-31"),
        ("クリスマスに何をした？", "2025-12-25"),
        ("Qu'est-ce qui s'est passé mardi de la semaine dernière ?", "2026-03-10"),
        ("What did we decide in January about Christmas?", "2026-01-01 2026-01-31"),
        ("what did we decide on 8 May 2023?", "2023-05-08"),
        ("notes of May 8th, 2023", "2023-05-08"),
        ("the review on December 3rd", "2025-12-03"),
        ("the review on March 3", "2026-03-03"),
        ("trips in May 2023", "2023-05-01 2023-05-31"),
        ("trips in 2023-02", "2023-02-01 2023-02-28"),
        ("what did I buy in April?", "2025-04-01 2025-04-30"),
        ("2023年5月8日に何をした？", "2023-05-08"),
        ("2023年5月的会议", "2023-05-01 2023-05-31"),
        ("the weekend of 7 March", "2026-03-07 2026-03-08"),
        ("am Wochenende vom 7. März", "2026-03-07 2026-03-08"),
        ("2月3日の週に何をした？", "2026-02-02 2026-02-08"),
        ("2月3日那一周我做了什么", "2026-02-02 2026-02-08"),
        ("what happened in week 6?", "2026-02-02 2026-02-08"),
        ("semaine 6 qu'avons-nous fait ?", "2026-02-02 2026-02-08"),
        ("a year ago today", "2025-03-18"),
        ("what did we ship in Q4?", "2025-10-01 2025-12-31"),
        ("Mitte August was war da", "2025-08-11 2025-08-20"),
        ("месяц назад", "2026-02-01 2026-02-28"),
        ("what did I do on the 11th?", "2026-03-11"),
        ("on Monday the 2nd", "2026-03-02"),
        ("from Monday to Wednesday", "2026-03-09 2026-03-11"),
        ("dal 2 al 6 febbraio", "2026-02-02 2026-02-06"),
        ("2月2日から6日まで", "2026-02-02 2026-02-06"),
        ("meetings in 11/2025", "2025-11-01 2025-11-30"),
        ("Nov '24 what did we do", "2024-11-01 2024-11-30"),
        ("was war in den letzten 24 Stunden", "2026-03-17 2026-03-18"),
        ("first half of 2025", "2025-01-01 2025-06-30"),
        ("what did I do yesterday", "2026-03-17"),
        ("deploys last week", "2026-03-09 2026-03-15"),
        ("deploys this month", "2026-03-01 2026-03-31"),
        ("the budget of last year", "2025-01-01 2025-12-31"),
        ("three days ago", "2026-03-15"),
        ("2 weeks ago", "2026-03-01 2026-03-07"),
        ("septembre ou octobre", "2025-09-01 2025-10-31"),
        ("im September oder Oktober", "2025-09-01 2025-10-31"),
        ("vor genau 2 Wochen", "2026-03-01 2026-03-07"),
        ("4 months ago", "2025-11-01 2025-11-30"),
        ("the call on Tuesday", "2026-03-17"),
        ("last Wednesday's call", "2026-03-11"),
        ("what changed in 2024?", "2024-01-01 2024-12-31"),
        ("Was haben wir am Montag Morgen besprochen?", "2026-03-16"),
        ("Was habe ich am Sonntag Morgen gemacht?", "2026-03-15"),
        ("Was habe ich diesen Morgen notiert?", "2026-03-18"),
        ("¿Qué hice la mañana del domingo?", "2026-03-15"),
        ("¿Qué hice la mañana del lunes?", "2026-03-16"),
        ("Wat deden we deze morgen in de tuin?", "2026-03-18"),
        ("Wie heißt der Film, der morgen läuft?", "2026-03-19"),
    ],
)
def test_a_period_is_understood(text: str, days: str) -> None:
    found = find_period(text, TODAY)
    assert found is not None
    assert show(found.period) == days


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("What did we do on the first weekend of July?", "2026-07-04 2026-07-05"),
        ("the last weekend of September", "2026-09-26 2026-09-27"),
        ("the second Tuesday of October", "2026-10-13"),
        ("in early August", "2026-08-01 2026-08-10"),
        ("in mid-June", "2026-06-11 2026-06-20"),
        ("at the end of last month", "2026-10-21 2026-10-31"),
        ("the first half of May", "2026-05-01 2026-05-15"),
        ("Tuesday of last week", "2026-11-17"),
        ("this Monday", "2026-11-23"),
        ("a week ago today", "2026-11-18"),
        ("the day before yesterday", "2026-11-23"),
        ("What happened at the weekend?", "2026-11-21 2026-11-22"),
        ("the weekend before last", "2026-11-14 2026-11-15"),
        ("the week before 3 October", "2026-09-26 2026-10-02"),
        ("the day before 3 October 2025", "2025-10-02"),
        ("the weekend before October 3, 2026", "2026-09-26 2026-09-27"),
        ("three days before 2026-03-04", "2026-03-01"),
        ("the day after 3 May 2026", "2026-05-04"),
        ("two weeks after 5 May", "2026-05-16 2026-05-22"),
        ("the weekend after 3 October", "2026-10-10 2026-10-11"),
        ("the Friday before Christmas", "2025-12-19"),
        ("the month before 3 May", "2026-04-01 2026-04-30"),
        ("in der Woche vor dem 3. August", "2026-07-27 2026-08-02"),
        ("drei Tage nach dem 5. Mai", "2026-05-08"),
        ("la semaine après le 14 juillet", "2026-07-15 2026-07-21"),
        ("el viernes después del 3 de agosto", "2026-08-07"),
        ("la settimana prima del 2 giugno", "2026-05-26 2026-06-01"),
        ("de week voor 3 mei", "2026-04-26 2026-05-02"),
        ("через два дня после 5 мая", "2026-05-07"),
        ("since June", "2026-06-01 2026-11-25"),
        ("after 3 October", "2026-10-04 2026-11-25"),
        ("between March and May", "2026-03-01 2026-05-31"),
        ("from 28 September to 3 October", "2026-09-28 2026-10-03"),
        ("3–5 October", "2026-10-03 2026-10-05"),
        ("from November to January", "2025-11-01 2026-01-31"),
        ("the last three days", "2026-11-22 2026-11-25"),
        ("last summer", "2026-06-01 2026-08-31"),
        ("last winter", "2025-12-01 2026-02-28"),
        ("autumn 2024", "2024-09-01 2024-11-30"),
        ("summer of last year", "2025-06-01 2025-08-31"),
        ("last quarter", "2026-07-01 2026-09-30"),
        ("Q3 2025", "2025-07-01 2025-09-30"),
        ("Q3'25", "2025-07-01 2025-09-30"),
        ("2Q26", "2026-04-01 2026-06-30"),
        ("What happened in 2025Q4?", "2025-10-01 2025-12-31"),
        ("Q2-Q3 2025", "2025-04-01 2025-09-30"),
        ("What happened in H1 2026?", "2026-01-01 2026-06-30"),
        ("¿Qué pasó en el 2S 2025?", "2025-07-01 2025-12-31"),
        ("Qu'avons-nous fait au 4T 2025 ?", "2025-10-01 2025-12-31"),
        ("Was war im 2. Halbjahr 2025?", "2025-07-01 2025-12-31"),
        ("¿Qué hicimos en el primer semestre de 2025?", "2025-01-01 2025-06-30"),
        ("last half year", "2026-01-01 2026-06-30"),
        ("March to May 2024", "2024-03-01 2024-05-31"),
        ("between Christmas and New Year", "2025-12-25 2026-01-01"),
        ("Was war zwischen den Jahren?", "2025-12-24 2026-01-01"),
        ("at the beginning of the year", "2026-01-01 2026-05-02"),
        ("Was war Ende des Monats?", "2026-11-21 2026-11-30"),
        ("in the week of 28 September", "2026-09-28 2026-10-04"),
        ("2026-W40", "2026-09-28 2026-10-04"),
        ("3.10.", "2026-10-03"),
        ("on 03.10.2025", "2025-10-03"),
        ("Was war in der ersten Juliwoche?", "2026-07-01 2026-07-07"),
        ("Was haben wir vorgestern gemacht?", "2026-11-23"),
        ("Was war letzten Dienstag?", "2026-11-24"),
        ("Was war am Dienstagabend?", "2026-11-24"),
        ("Was ist letztes Wochenende passiert?", "2026-11-21 2026-11-22"),
        ("in den letzten drei Tagen", "2026-11-22 2026-11-25"),
        ("vor drei Wochen", "2026-11-01 2026-11-07"),
        ("heute vor einer Woche", "2026-11-18"),
        ("Was war am 3. Oktober los?", "2026-10-03"),
        ("Was haben wir am Wochenende gemacht?", "2026-11-21 2026-11-22"),
        ("Was war letzte Woche Mittwoch?", "2026-11-18"),
        ("Was haben wir vom 3. bis 9. August gemacht?", "2026-08-03 2026-08-09"),
        ("Was war Ende Oktober?", "2026-10-21 2026-10-31"),
        ("KW 40", "2026-09-28 2026-10-04"),
        ("Que s'est-il passé la semaine dernière ?", "2026-11-16 2026-11-22"),
        ("Qu'est-ce qui s'est passé dans les sept premiers jours de juillet ?", "2026-07-01 2026-07-07"),
        ("Qu'avons-nous fait il y a trois jours ?", "2026-11-22"),
        ("Qu'avons-nous fait depuis juin ?", "2026-06-01 2026-11-25"),
        ("Qu'est-ce qu'on a fait entre mars et mai ?", "2026-03-01 2026-05-31"),
        ("¿Qué pasó el fin de semana pasado?", "2026-11-21 2026-11-22"),
        ("¿Qué hicimos hace tres días?", "2026-11-22"),
        ("¿Qué hicimos a principios de julio?", "2026-07-01 2026-07-10"),
        ("¿Qué hicimos el verano pasado?", "2026-06-01 2026-08-31"),
        ("¿Qué hicimos del 3 al 9 de agosto?", "2026-08-03 2026-08-09"),
        ("¿Qué pasó el martes de la semana pasada?", "2026-11-17"),
        ("¿Qué hicimos en el fin de semana?", "2026-11-21 2026-11-22"),
        ("¿Qué pasó anteayer?", "2026-11-23"),
        ("Cosa è successo lo scorso fine settimana?", "2026-11-21 2026-11-22"),
        ("Cosa abbiamo fatto tre giorni fa?", "2026-11-22"),
        ("Cosa abbiamo fatto nella prima settimana di luglio?", "2026-07-01 2026-07-07"),
        ("Che cosa ho fatto l'altro ieri?", "2026-11-23"),
        ("O que aconteceu no fim de semana passado?", "2026-11-21 2026-11-22"),
        ("O que fizemos há três dias?", "2026-11-22"),
        ("O que aconteceu na primeira semana de julho?", "2026-07-01 2026-07-07"),
        ("O que fizemos na terça-feira?", "2026-11-24"),
        ("Wat hebben we vorig weekend gedaan?", "2026-11-21 2026-11-22"),
        ("Wat gebeurde er drie dagen geleden?", "2026-11-22"),
        ("Wat deden we in de eerste week van juli?", "2026-07-01 2026-07-07"),
        ("Wat hebben we eergisteren gedaan?", "2026-11-23"),
        ("Что мы делали на прошлых выходных?", "2026-11-21 2026-11-22"),
        ("Что случилось три дня назад?", "2026-11-22"),
        ("Что было в первую неделю июля?", "2026-07-01 2026-07-07"),
        ("Что было прошлым летом?", "2026-06-01 2026-08-31"),
        ("昨天发生了什么？", "2026-11-24"),
        ("上周二做了什么？", "2026-11-17"),
        ("三天前发生了什么？", "2026-11-22"),
        ("7月第一周做了什么？", "2026-07-01 2026-07-07"),
        ("去年夏天", "2025-06-01 2025-08-31"),
        ("从六月以来", "2026-06-01 2026-11-25"),
        ("先週の火曜日に何をした？", "2026-11-17"),
        ("3日前に何があった？", "2026-11-22"),
        ("7月の第1週に何があった？", "2026-07-01 2026-07-07"),
        ("先週末は何をしましたか", "2026-11-21 2026-11-22"),
        ("10月上旬のメモ", "2026-10-01 2026-10-10"),
        ("6月から何をした？", "2026-06-01 2026-11-25"),
    ],
)
def test_every_language_names_the_same_periods(text: str, days: str) -> None:
    found = find_period(text, LATER)
    assert found is not None
    assert (show(found.period), found.alone) == (days, True)


@pytest.mark.parametrize(
    ("several", "days"),
    [
        (
            "early November; Anfang November; début novembre; a principios de noviembre; all'inizio di novembre; no começo de"
            " novembro; begin november; в начале ноября; 11月初; 11月の初め",
            "2026-11-01 2026-11-10",
        ),
        (
            "mid November; Mitte November; mi-novembre; a mediados de noviembre; a metà novembre; na metade de novembro; half"
            " november; в середине ноября; 11月中旬; 11月半ば",
            "2026-11-11 2026-11-20",
        ),
        (
            "late November; Ende November; fin novembre; a últimos de noviembre; a fine novembre; no final de novembro; eind"
            " november; к концу ноября; 11月底; 11月の終わり",
            "2026-11-21 2026-11-30",
        ),
        (
            "October and November; Oktober und November; octobre et novembre; octubre y noviembre; ottobre e novembre; outubro e"
            " novembro; oktober en november; октябрь и ноябрь; 10月和11月; 10月と11月",
            "2026-10-01 2026-11-30",
        ),
        ("at the end of the week; Ende der Woche; al final de la semana", "2026-11-27 2026-11-29"),
        ("month end; am Monatsende; 月末", "2026-11-21 2026-11-30"),
        (
            "What is on in the coming days?; Was steht in den nächsten Tagen an?; dans les jours à venir; los próximos días;"
            " nei prossimi giorni; nos próximos dias; de komende dagen; ближайшие дни; 接下来的几天; 今後数日",
            "2026-11-25 2026-12-02",
        ),
        (
            "the last few weeks; in den letzten Wochen; ces dernières semaines; las últimas semanas; nelle ultime settimane; nas"
            " últimas semanas; de afgelopen weken; последние недели; 最近几周; ここ数週間",
            "2026-10-28 2026-11-25",
        ),
        ("the last days; in den letzten Tagen; en los últimos días; negli ultimi giorni", "2026-11-18 2026-11-25"),
        (
            "last days of May; derniers jours de mai; últimos días de mayo; últimos dias de maio",
            "2026-05-21 2026-05-31",
        ),
        (
            "which appointments do I have next week; Welche Termine habe ich nächste Woche?; Quels rendez-vous ai-je la semaine"
            " prochaine ?; ¿Qué citas tengo la semana que viene?; Quali impegni ho la settimana prossima?; Welke afspraken heb ik"
            " volgende week?; 下周有什么安排",
            "2026-11-30 2026-12-06",
        ),
        (
            "in three days; in drei Tagen; dans trois jours; dentro de tres días; fra tre giorni; daqui a três dias; over drie"
            " dagen; через три дня; 三天后; 3日後",
            "2026-11-28",
        ),
        (
            "the second half of September; in der zweiten Septemberhälfte; in der zweiten Hälfte des Septembers; dans la seconde"
            " quinzaine de septembre; en la segunda quincena de septiembre",
            "2026-09-16 2026-09-30",
        ),
        (
            "the Friday before last; vorletzten Freitag; Friday two weeks ago; two weeks ago on Friday; am Freitag vor zwei"
            " Wochen; il y a deux semaines, vendredi; vrijdag twee weken geleden",
            "2026-11-13",
        ),
        ("the Tuesday after next; übernächsten Dienstag", "2026-12-08"),
        ("the 9th of last month; last month on the 9th", "2026-10-09"),
        ("the week of the 7th", "2026-12-07 2026-12-13"),
        ("the weekend of the 5th", "2026-12-05 2026-12-06"),
        (
            "the last ten days; ces dix derniers jours; los diez últimos días; nos últimos dez dias",
            "2026-11-15 2026-11-25",
        ),
        ("au début du mois; в начале месяца; at the beginning of the month", "2026-11-01 2026-11-10"),
        ("à la fin du mois; в конце месяца", "2026-11-21 2026-11-30"),
        ("from mid September to mid October; von Mitte September bis Mitte Oktober", "2026-09-11 2026-10-20"),
        ("im Laufe des Oktobers 2025", "2025-10-01 2025-10-31"),
        (
            "Easter 2025; Ostern 2025; Pâques 2025; Pascua 2025; Pasqua 2025; Páscoa 2025; Pasen 2025",
            "2025-04-18 2025-04-21",
        ),
        ("at Whitsun 2026; an Pfingsten 2026; met Pinksteren 2026", "2026-05-24 2026-05-25"),
        ("an Karfreitag 2024; Viernes Santo 2024", "2024-03-29"),
        ("Thanksgiving 2025", "2025-11-27"),
    ],
)
def test_parts_of_months_and_some_days_or_months_in_every_language(several: str, days: str) -> None:
    for text in several.split("; "):
        found = find_period(text, LATER, ahead=AHEAD.search(several) is not None)
        assert found is not None, text
        assert (show(found.period), found.alone) == (days, True), text


def test_periods_with_others_between_them_are_no_range() -> None:
    found = find_period("What did I do in May and November?", LATER)
    assert found is not None
    assert show(found.period) == "2026-11-01 2026-11-30"


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("3 December", "2026-12-03"),
        ("25 November", "2026-11-25"),  # today
        ("November", "2026-11-01 2026-11-30"),
        ("January", "2027-01-01 2027-01-31"),
        ("on Wednesday", "2026-12-02"),
        ("Friday", "2026-11-27"),
        ("at the weekend", "2026-11-28 2026-11-29"),
        ("in winter", "2026-12-01 2027-02-28"),
        ("from Friday to Sunday", "2026-11-27 2026-11-29"),
        ("from December to February", "2026-12-01 2027-02-28"),
        ("in December and January", "2026-12-01 2027-01-31"),
        ("on the 3rd", "2026-12-03"),
        ("Thursday 3", "2026-12-03"),
        ("Thursday 3 pm", "2026-11-26"),
        ("jueves 3 a las nueve", "2026-12-03"),
        ("am Donnerstag, den 3. um neun", "2026-12-03"),
        ("jeudi 3 à midi", "2026-12-03"),
        ("Friday 3 people came", "2026-11-27"),  # no Friday is a third before long
        ("Fr 4.12. 15:00", "2026-12-04"),  # no year
        ("Fr 4.12. 15 Uhr", "2026-12-04"),
        ("4.12.27", "2027-12-04"),
        ("4. 12. 27", "2027-12-04"),
        ("qu'est-ce qu'il y a le 3 décembre ?", "2026-12-03"),
        ("since June", "2026-06-01 2026-11-25"),
        ("last Friday", "2026-11-20"),
        ("in the winter of 2024/25", "2024-12-01 2025-02-28"),
        ("im Winter 2024/25", "2024-12-01 2025-02-28"),
        ("2026-W27", "2026-06-29 2026-07-05"),
        ("Wie belde er afgelopen vrijdag?", "2026-11-20"),  # taken for German
        ("3 December 2025", "2025-12-03"),
    ],
)
def test_what_is_to_come(text: str, days: str) -> None:
    found = find_period(text, LATER, ahead=True)
    assert found is not None
    assert show(found.period) == days


def test_so_many_days_are_a_time_to_come_only_where_that_is_asked() -> None:
    assert find_period("What did I learn in three days?", LATER) is None
    assert find_period("the five days of the course", LATER, ahead=True) is None
    assert [each.is_later for each in find_periods("We fly in three weeks", LATER)] == [True]


@pytest.mark.parametrize(
    "easter", ["1913-03-23", "1943-04-25", "1954-04-18", "1981-04-19", "2000-04-23", "2026-04-05", "2038-04-25"]
)
def test_easter_is_that_of_the_tables(easter: str) -> None:
    found = find_period(f"Ostersonntag {easter[:4]}", LATER)
    assert found is not None
    assert (show(found.period), found.is_holiday) == (easter, True)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Wants the figures by Friday.", "2026-11-27"),
        ("Bis 4.12. bei der Schule anmelden", "2026-12-04"),
        ("À rendre d'ici vendredi", "2026-11-27"),
        ("Está fuera hasta el viernes", "2026-11-27"),
        ("Consegnare entro venerdì", "2026-11-27"),
    ],
)
def test_a_note_tells_of_the_day_until_which_something_lasts(text: str, day: str) -> None:
    assert [(show(each.period), each.is_end) for each in find_periods(text, LATER, ahead=True)] == [(day, True)]


@pytest.mark.parametrize("language", LANGUAGES)
@given(day=DAYS, today=DAYS)
def test_a_day_without_a_year_never_crosses_today(language: str, day: date, today: date) -> None:
    month = MONTHS[language].split()[day.month - 1]
    question = ASKED[language].format(day=day.day, month=month, year="").replace(" de ?", "?").replace(" года", "")
    passed, coming = find_period(question, today), find_period(question, today, ahead=True)
    assert passed is not None
    assert coming is not None
    assert passed.period.first <= today <= coming.period.first
    assert {(each.period.first.month, each.period.first.day) for each in (passed, coming)} == {(day.month, day.day)}


@given(today=DAYS, name=st.sampled_from(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]))
def test_a_weekday_never_crosses_today(today: date, name: str) -> None:
    passed, coming = find_period(name, today), find_period(name, today, ahead=True)
    assert passed is not None
    assert coming is not None
    assert coming.period.first - passed.period.first == timedelta(14 if f"{today:%A}" == name else 7)
    assert passed.period.first < today < coming.period.first


@pytest.mark.parametrize(
    "text",
    [
        "week 3 of the course",
        "on the second floor",
        "on the third day of the course",
        "item '25",
        "3/4 cup of sugar",
        "¿Cuánta harina, 1/2 taza?",
        "what happened on 2/3?",
        "the 24/7 line",
        "What did Noel say?",
        "",
        "which port?",
        "may I go?",
        "we march on",
        "version 2.20.26",
        "error 2023",
        "Was ist hier los?",  # a word of French
        "took out 3 books",  # "out" is October in Portuguese
        "the sensor T4",
        "the H1 of a page",
        "early years of a choir",
        "Who is on call every Monday?",
        "Qui vient le mardi ?",
        "Wer kommt jeden Montag?",
        "Was mache ich jeden Morgen nach dem Aufstehen?",
        "Was steht am Morgen an?",
        "¿Qué hago cada mañana?",
        "¿Qué tomo a las 8 de la mañana?",
        "Wat doe ik elke morgen na het opstaan?",
        "What must be done before June?",
        "What must be done by June?",
        "Who lends me a keyboard until Thursday?",
        "vor dem 3. Juni",
        "room 3 in March Street",
    ],
)
def test_no_period_where_none_is_meant(text: str) -> None:
    found = find_period(text, TODAY)
    assert found is None or "2026-03-03" not in show(found.period)
    if text != "room 3 in March Street":
        assert found is None


@pytest.mark.parametrize(
    "verb", ["ask {}", "What did {} say?", "Did {} call?", "Who is {}?", "Has {}'s boat been sold?"]
)
@pytest.mark.parametrize("name", ["May", "April", "June", "August", "Mars", "Jan", "Summer", "Sunday Rose"])
def test_a_name_beside_a_verb_of_asking_is_no_period(verb: str, name: str) -> None:
    assert find_period(verb.format(name), TODAY) is None


@pytest.mark.parametrize(
    "text", ["¿Qué dijo Julio?", "Que dit Avril ?", "Wie is Juni?", "el coche de Julio", "Was sagt Sommer?"]
)
def test_a_name_is_no_period_in_other_languages(text: str) -> None:
    assert find_period(text, TODAY) is None


@pytest.mark.parametrize("language", LANGUAGES)
@given(day=DAYS)
def test_a_day_in_any_language_is_itself(language: str, day: date) -> None:
    month = MONTHS[language].split()[day.month - 1]
    found = find_period(ASKED[language].format(day=day.day, month=month, year=day.year), LATER)
    assert found is not None
    assert found.period == Period(day, day)


@given(
    DAYS,
    st.sampled_from(["{0:%Y-%m-%d}", "{0.day}.{0.month}.{0.year}", "{0.year}年{0.month}月{0.day}日", "{0:%Y_%m_%d}"]),
)
def test_a_day_in_figures_is_itself(day: date, form: str) -> None:
    found = find_period(f"{form.format(day)}", LATER)
    assert found is not None
    assert found.period == Period(day, day)
    assert day.isoformat() in found.period


@given(day=DAYS)
def test_the_ways_in_which_notes_write_a_day_are_read_as_that_day_or_its_week(day: date) -> None:
    with_month = [each for each in list_day_spellings(day) if any(char.isalpha() for char in each)]
    found = [find_period(each, day) for each in with_month]
    near = [each for each in found if each and (day in each.period or day - timedelta(6) <= each.period.first <= day)]
    assert len(near) >= 3 * len(LANGUAGES)


UNITS = "week weekend month quarter year Monday Friday Sunday summer winter May October"


@given(DAYS, st.sampled_from(UNITS.split()))
def test_last_is_never_in_the_future_and_next_never_in_the_past(today: date, unit: str) -> None:
    last, following = find_period(f"last {unit}", today), find_period(f"next {unit}", today)
    assert last is not None
    assert following is not None
    assert last.period.last < today
    assert following.period.first > today


@given(st.text(), st.dates())
def test_any_text_on_any_day_is_read_without_error(text: str, today: date) -> None:
    found = find_period(text, today)
    assert found is None or found.period.first <= found.period.last


def test_the_words_that_name_a_period() -> None:
    found = find_period("What changed in April 2022, exactly?", TODAY)
    assert found is not None
    assert (found.text, found.alone, found.language) == ("April 2022", False, "en")
    assert find_period("What changed?", TODAY) is None


def test_a_topic_is_told_from_a_bare_period() -> None:
    asked = [
        "What did I do on 3 October?",
        "What did the vet say on 3 October?",
        "October",
        "rent October",
        "Monday: 72.4",
    ]
    assert [found.alone for each in asked if (found := find_period(each, LATER))] == [True, False, True, False, False]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026_02_05", "2026-02-05"),
        ("20260206", "2026-02-06"),
        ("202602091430 walrus", "2026-02-09"),
        ("2026.02.11", "2026-02-11"),
        ("2026/02/07", "2026-02-07"),
        ("February 10th, 2026", "2026-02-10"),
        ("3. Mai 2026 Besprechung", "2026-05-03"),
        ("2026年2月5日", "2026-02-05"),
        ("2026-3-1, then 2026-03-02", "2026-03-02"),
        ("2026-3-1", "2026-03-01"),
        ("2026-02-12 09:30", "2026-02-12"),
        ("2026-02-14T08:00:00Z", "2026-02-14"),
        ("2026-W07", "2026-02-09"),
        ("Week 7, 2026", "2026-02-09"),
        ("Thu Sep  3 10:00:00 2026", "2026-09-03"),
        ("Thu Sep 3 10:00 CEST 2026", "2026-09-03"),
        ("Sprint 12 - 14.10.2026", "2026-10-14"),
        ("20. bis 25.10.2026 Urlaub", "2026-10-20"),
        ("20269999", None),
        ("3 May", None),
        ("yesterday", None),
        ("notes of May 2026", None),
        ("", None),
    ],
)
def test_the_day_that_a_note_is_named_by(text: str, day: str | None) -> None:
    assert find_written_day(text) == day


@pytest.mark.parametrize(
    "text",
    [
        "Draft: people do not forget.",
        "The water is cold, so dress at once.",
        "He sat down in the sun and wed her.",
        "Plant it in sun or shade.",
        "We do 5 rounds, sat 3 hours and so on.",
        "So 3 Eier und ein Glas Milch.",
        "Das ist im so genannten Rat so gewesen.",
        "Do: be kind\nDon't: shout",
        "Rule 12 may not hold.",
        "This may help.",
        "Mag keine Oliven.",
        "Wir saßen in der Küche, und ich saß lange.",
        "Fisch mit Soße",
        "SO BE IT, DO NOT PANIC",
    ],
)
def test_a_short_name_that_is_another_word_names_no_day(text: str) -> None:
    assert not find_periods(text, TODAY)
    assert not names_day(text)
    assert not [day for language in LANGUAGES for day in range(7) if names_weekday(text, day, language)]


@pytest.mark.parametrize(
    ("text", "language", "days"),
    [
        ("- **Sa**: Markt", "de", [5]),
        ("| Do | Chor |", "de", [3]),
        ("Fri. Pilates", "en", [4]),
        ("Mo–Fr geschlossen", "de", [0, 4]),
        ("Mo bis Fr offen", "de", [0, 4]),
        ("gym on Mon, Wed", "en", [0, 2]),
        ("Chor jeden Do", "de", [3]),
        ("choir every Sat morning", "en", [5]),
        ("Sun 9am run", "en", [6]),
        ("So 17:30 Brunch", "de", [6]),
        ("sat 9am yoga", "en", [5]),
        ("Brunch am So um elf", "de", [6]),
        ("what is on sat", "en", [5]),
        ("was ist am so?", "de", [6]),
        ("Bins on Thursdays", "en", [3]),
        ("mittwochs Bioabfall", "de", [2]),
    ],
)
def test_a_short_name_is_a_day_where_it_is_written_as_one(text: str, language: str, days: list[int]) -> None:
    assert [day for day in range(7) if names_weekday(text, day, language)] == days
    assert names_day(text)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("The test moved from Nov 20 to Dec 8.", "2025-11-20 2025-12-08"),
        ("the test is on Dec 8", "2025-12-08"),
        ("What did we do last sat?", "2026-03-14"),
        ("wed on 5 March", "2026-03-05"),
        ("dentist 3 may", "2025-05-03"),
        ("last may with Ines", "2025-05-01 2025-05-31"),
        ("Was war an Silvester 2024?", "2024-12-31"),
        ("What did we do at Christmas 2024?", "2024-12-25"),
        ("2024 Weihnachten in Graz", "2024-12-24"),
    ],
)
def test_a_month_before_its_day_and_a_feast_with_its_year_are_read(text: str, days: str) -> None:
    assert [show(each.period) for each in find_periods(text, TODAY)] == [days]


def test_a_range_of_days_names_those_at_its_ends() -> None:
    (found,) = find_periods("from Nov 20 to Dec 8", TODAY)
    assert found.is_range
    (found,) = find_periods("from November to January", TODAY)
    assert not found.is_range


@given(
    st.lists(
        st.sampled_from(["Do", "so", "Sat", "on", "am", "last", "3", "9:00", "may", ":", ",", "\n", "Früh", " "])
    ).map(" ".join)
)
def test_every_text_with_short_names_can_be_read(text: str) -> None:
    find_periods(text, TODAY)
    names_day(text)
    for language in ("en", "de"):
        for day in range(7):
            names_weekday(text, day, language)


EVERYDAY = date(2026, 10, 7)  # a Wednesday


def check_everyday(asked: str, days: str | None) -> None:
    """Check what a question names on `EVERYDAY`; one that ends in "…" asks for what is to come."""
    found = find_period(asked.removesuffix("…"), EVERYDAY, ahead=asked.endswith("…"))
    assert (show(found.period) if found else None) == days


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ("What did the doctor say on the 3rd?", "2026-10-03"),
        ("what did we do on the twenty-first of august", "2026-08-21"),
        ("Monday, the fourteenth", "2026-09-14"),
        ("what happened twenty days ago", "2026-09-17"),
        ("What did I do all through August?", "2026-08-01 2026-08-31"),
        ("what did we do last christmas", "2025-12-25"),
        ("what did we do on Easter Sunday?", "2026-04-05"),
        ("What did we do on the Monday after Easter?", "2026-04-06"),
        ("what did we do the weekend before easter", "2026-03-28 2026-03-29"),
        ("what did we do in the summer two years ago", "2024-06-01 2024-08-31"),
        ("what did we do at easter three years ago", "2023-04-07 2023-04-10"),
        ("what did we do the weekend two weeks ago", "2026-09-26 2026-09-27"),
        ("What happened half a year ago?", "2026-04-01 2026-04-30"),
        ("what did we eat every day last week", "2026-09-28 2026-10-04"),
        ("in the year 2024", "2024-01-01 2024-12-31"),
        ("sept 20th-25th", "2026-09-20 2026-09-25"),
        ("the week commencing 28 September", "2026-09-28 2026-10-04"),
        ("in about three weeks…", "2026-10-25 2026-10-31"),
        ("what did we do the night before last", "2026-10-05"),
        ("what happened monday till wednesday", "2026-09-28 2026-09-30"),
        ("the 6th-8th", "2026-10-06 2026-10-08"),
        ("any news since the weekend?", "2026-10-03 2026-10-07"),
        ("What's due on Friday?…", "2026-10-09"),
        ("what is on Monday in two weeks…", "2026-10-19"),
        ("what's on this coming weekend…", "2026-10-10 2026-10-11"),
        ("what's on this Christmas…", "2026-12-25"),
        ("What are we doing this summer?…", "2026-06-01 2026-08-31"),  # it is autumn
        ("what did we do on weekends", None),
        ("how many days until Christmas…", None),
        ("on call every other Tuesday", None),
        ("rent is £640 a month in total…", None),
        ("who lives on the 2nd floor", None),
        ("Where did we come in seventh?", None),
        ("I am 3.5 times faster", None),
        ("It may at this point fail", None),
        ("I may in the next version remove this", None),
        ("What did we do on weekends in July?", "2026-07-01 2026-07-31"),
        ("Issue 12 - 2026-10-15…", "2026-10-15"),
        ("what did I take each morning", None),
    ],
)
def test_everyday_english(asked: str, days: str | None) -> None:
    check_everyday(asked, days)


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ("Was haben wir am Montagmorgen besprochen?", "2026-10-05"),
        ("Was war Freitag?", "2026-10-02"),
        ("wer rief Sonntag abend an", "2026-10-04"),
        ("wer rief Sonntag", "2026-10-04"),
        ("Zahnarzt Freitag 9:30…", "2026-10-09"),
        ("was war heut morgen", "2026-10-07"),
        ("was war am 2.10", "2026-10-02"),
        ("was war am 2ten Oktober", "2026-10-02"),
        ("was war am zwölften August", "2026-08-12"),
        ("Was hat der Arzt am 3. gesagt?", "2026-10-03"),
        ("was war am 15. des letzten Monats", "2026-09-15"),
        ("Was war am Sonntag, dem 2.?", "2026-08-02"),
        ("was war in der 38. KW", "2026-09-14 2026-09-20"),
        ("Was war in den letzten beiden Wochen?", "2026-09-23 2026-10-07"),
        ("was war übers Wochenende", "2026-10-03 2026-10-04"),
        ("was war im ganzen August", "2026-08-01 2026-08-31"),
        ("Was war im Spätsommer?", "2026-08-01 2026-08-31"),
        ("was war von Montag bis Mittwoch", "2026-09-28 2026-09-30"),
        ("was war 28.9.-2.10.", "2026-09-28 2026-10-02"),
        ("was war vom 1.-5.10.", "2026-10-01 2026-10-05"),
        ("20.9. bis 2.10.", "2026-09-20 2026-10-02"),
        ("seit dem 20.", "2026-09-20 2026-10-07"),
        ("vor ungefähr drei Monaten", "2026-07-01 2026-07-31"),
        ("im vorletzten Sommer", "2025-06-01 2025-08-31"),
        ("Neujahr…", "2027-01-01"),
        ("was war letztes Weihnachten", "2025-12-24"),
        ("was war am 1. Weihnachtstag", "2025-12-25"),
        ("Was war an Ostern?", "2026-04-03 2026-04-06"),
        ("was war in der Woche nach Ostern", "2026-04-06 2026-04-12"),
        ("was war im Sommer vor zwei Jahren", "2024-06-01 2024-08-31"),
        ("was habe ich heute in zwei Wochen…", "2026-10-21"),
        ("was ist am 21.…", "2026-10-21"),
        ("was machen wir kommendes Wochenende…", "2026-10-10 2026-10-11"),
        ("Was mache ich jeden Montagmorgen?", None),
        ("Was mache ich montags?", None),
        ("Was sagt Frau Sonntag?", None),
        ("wen treffe ich jeden zweiten Dienstag", None),
        ("schreib ein Gedicht über den Herbst", None),
        ("Wo ist Herr Freitag heute Abend gewesen?", "2026-10-07"),
        ("in der 3. Klasse im 2. Stock", None),
        ("das am 2.10 m langen Brett", None),
        ("Ich lebe seit zehn Jahren in Hamburg…", None),
    ],
)
def test_everyday_german(asked: str, days: str | None) -> None:
    check_everyday(asked, days)


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ("Wat hebben we op maandagmorgen besproken?", "2026-10-05"),
        ("wat heb ik zondag gedaan", "2026-10-04"),
        ("wat was er op za", "2026-10-03"),
        ("vr. 16:00 tandarts", "2026-10-02"),
        ("wat deden we het weekend van vorige week", "2026-10-03 2026-10-04"),
        ("wat zei mama eergisteravond", "2026-10-05"),
        ("wat noteerde ik gistermorgen", "2026-10-06"),
        ("wat is er morgenmiddag…", "2026-10-08"),
        ("wat zei de dokter op de 3e", "2026-10-03"),
        ("wat was er op eenentwintig augustus", "2026-08-21"),
        ("wat deed ik heel augustus", "2026-08-01 2026-08-31"),
        ("wat deden we van de zomer", "2026-06-01 2026-08-31"),
        ("wat plantte ik in het vroege voorjaar", "2026-03-01 2026-03-31"),
        ("wat was er van maandag tot woensdag", "2026-09-28 2026-09-30"),
        ("wat deden we vandaag een jaar geleden", "2025-10-07"),
        ("wat deden we afgelopen kerst", "2025-12-25"),
        ("wat aten we op 2e kerstdag", "2025-12-26"),
        ("wat deden we op de maandag na Pasen", "2026-04-06"),
        ("wat deden we met vaderdag", "2026-06-21"),
        ("wat was er een half jaar geleden", "2026-04-01 2026-04-30"),
        ("wat is er maandag over twee weken…", "2026-10-19"),
        ("wat doen we komend weekend…", "2026-10-10 2026-10-11"),
        ("vandaag is het maandag, morgen dinsdag…", "2026-10-07"),
        ("wat doe ik elke maandagochtend", None),
        ("wie zie ik om de andere dinsdag", None),
        ("wie woont op de 2e verdieping", None),
        ("wat zegt mevrouw Zondag", None),
        ("wat zegt mevrouw Zondag over zo een plan", None),
    ],
)
def test_everyday_dutch(asked: str, days: str | None) -> None:
    check_everyday(asked, days)


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ("a fin de mes", "2026-10-21 2026-10-31"),
        ("a finales de este mes…", "2026-10-21 2026-10-31"),
        ("desde hace dos semanas", "2026-09-20 2026-10-07"),
        ("en Navidad", "2025-12-25"),
        ("en Semana Santa", "2026-03-29 2026-04-05"),
        ("el lunes después de Pascua", "2026-04-06"),
        ("el día 3", "2026-10-03"),
        ("el 28/09", "2026-09-28"),
        ("hace unos días", "2026-09-30 2026-10-07"),
        ("de hoy en ocho días…", "2026-10-15"),
        ("domingo por la mañana qué hice con los niños", "2026-10-04"),
        ("¿Qué hice el día 28?", "2026-09-28"),
        ("el mes pasado, el día 12", "2026-09-12"),
        ("esta madrugada qué pasó", "2026-10-07"),
        ("antes de anoche", "2026-10-05"),
        ("EL LUNES POR LA MAÑANA QUE HICIMOS", "2026-10-05"),
        ("hace como dos semanas", "2026-09-20 2026-09-26"),
        ("el fin de semana antes de Semana Santa", "2026-03-28 2026-03-29"),
        ("al comienzo del verano", "2026-06-01 2026-07-01"),
        ("gastos de la semana del 21 al 27 de septiembre", "2026-09-21 2026-09-27"),
    ],
)
def test_everyday_spanish(asked: str, days: str | None) -> None:
    check_everyday(asked, days)


def test_no_period_in_everyday_spanish() -> None:
    several = (
        "al día siguiente; Cada lunes por la mañana; Los lunes vamos al gimnasio"
        "; los domingos por la mañana qué hago; todos los viernes; cada mañana bebo café"
        "; todas las mañanas salgo a correr; por las mañanas qué tomo; por la mañana trabajo mejor"
        "; las mañanas de los sábados; cada verano vamos a Cádiz; todos los años pagamos el seguro"
        "; todos los meses; durante tres días estuvo enfermo; el curso dura dos semanas; tres horas de clase"
        "; dos veces por semana; una vez al mes; el mes tiene cuatro semanas; Me llamo Julio"
        "; Abril vino a cenar; ¿Qué le gusta a Julio?; doña Primavera; buenos días; buenas tardes"
        "; el segundo plato; una cuarta parte del dinero; la primera vez; la sexta planta"
        "; tengo sueño por la mañana; de la noche a la mañana; a las 8 de la mañana suena el despertador"
        "; a las diez de la mañana; un día de estos; algún día; cuánto cuesta el seguro por año"
        "; el niño tiene tres años; hace calor; hace falta comprar leche; horario de invierno; ropa de verano"
        "; el menú del día"
    )
    for asked in several.split("; "):
        check_everyday(asked, None)


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ("depuis deux semaines", "2026-09-20 2026-10-07"),
        ("pendant le week-end qu'avons-nous fait", "2026-10-03 2026-10-04"),
        ("début du mois dernier", "2026-09-01 2026-09-10"),
        ("l'année dernière en août", "2025-08-01 2025-08-31"),
        ("l'été dernier", "2026-06-01 2026-08-31"),
        ("l'été prochain…", "2027-06-01 2027-08-31"),
        ("le lundi de Pâques", "2026-04-06"),
        ("le lundi après Pâques", "2026-04-06"),
        ("la veille de Noël", "2025-12-24"),
        ("le 3", "2026-10-03"),
        ("il y a quelques jours", "2026-09-30 2026-10-07"),
        ("dimanche matin on a fait quoi", "2026-10-04"),
        ("le mois dernier, le 12", "2026-09-12"),
        ("Qu'avons-nous fait le 3 ?", "2026-10-03"),
        ("depuis un an", "2025-01-01 2026-10-07"),
        ("il y a environ deux semaines", "2026-09-20 2026-09-26"),
        ("dépenses de la semaine du 21 au 27 septembre", "2026-09-21 2026-09-27"),
        ("dans le courant du mois de septembre", "2026-09-01 2026-09-30"),
        ("pour Noël…", "2026-12-25"),
    ],
)
def test_everyday_french(asked: str, days: str | None) -> None:
    check_everyday(asked, days)


def test_no_period_in_everyday_french() -> None:
    several = (
        "qu'est-ce qu'on a fait le week-end; tous les lundis; chaque lundi matin"
        "; le lundi matin je vais à la piscine; le dimanche on mange quoi"
        "; le vendredi soir on joue aux cartes; tous les matins je bois un café; chaque matin"
        "; le matin je cours; le soir je lis; chaque été nous allons à Nice; tous les ans; chaque mois"
        "; pendant trois jours il était malade; le stage dure deux semaines; trois heures de cours"
        "; deux fois par semaine; une fois par mois; il a été malade; Combien a été payé; où avons-nous été"
        "; Monsieur Avril; une barre Mars; Qui est Juin Tanaka; bonne journée; la deuxième porte"
        "; le premier plat; une seconde fois; à huit heures du matin; à 8 heures du soir; un de ces jours"
        "; un jour; il a trois ans; combien coûte l'assurance par an; du jour au lendemain"
        "; les vêtements d'hiver; le plat du jour; la fin du film; il fait un pas en avant; l'heure d'été"
        "; le lendemain; à la semaine"
    )
    for asked in several.split("; "):
        check_everyday(asked, None)


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ("la mattina di martedì", "2026-10-06"),
        ("nella notte di sabato", "2026-10-03"),
        ("giovedì alle 14:30…", "2026-10-08"),
        ("durante il fine settimana", "2026-10-03 2026-10-04"),
        ("a fine mese", "2026-10-21 2026-10-31"),
        ("l'anno scorso ad agosto", "2025-08-01 2025-08-31"),
        ("l'estate scorsa", "2026-06-01 2026-08-31"),
        ("a Natale", "2025-12-25"),
        ("il lunedì dopo Pasqua", "2026-04-06"),
        ("il 3", "2026-10-03"),
        ("qualche giorno fa", "2026-09-30 2026-10-07"),
        ("cosa abbiamo fatto il 28?", "2026-09-28"),
        ("a fine anno", "2026-09-01 2026-12-31"),
        ("da giugno ad agosto", "2026-06-01 2026-08-31"),
        ("per Natale…", "2026-12-25"),
    ],
)
def test_everyday_italian(asked: str, days: str | None) -> None:
    check_everyday(asked, days)


def test_no_period_in_everyday_italian() -> None:
    several = (
        "ogni lunedì; il lunedì vado in piscina; il lunedì mattina vado in piscina; tutti i lunedì"
        "; di domenica dormo; ogni mattina; la mattina bevo il caffè; ogni estate; per tre giorni era malato"
        "; il corso dura due settimane; due volte alla settimana; una volta al mese; ha tre anni"
        "; Domenica Rossi; la prima volta; il secondo piatto; buona sera; il giorno dopo"
        "; alle otto di mattina; uno di questi giorni; tutti gli anni; prima di tutto; mar Rosso"
    )
    for asked in several.split("; "):
        check_everyday(asked, None)


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ("segunda de manhã o que fizemos", "2026-10-05"),
        ("segunda feira a noite", "2026-10-05"),
        ("quinta às 14h30…", "2026-10-08"),
        ("na semana passada na terça", "2026-09-29"),
        ("no próximo final de semana…", "2026-10-17 2026-10-18"),
        ("no ano passado em agosto", "2025-08-01 2025-08-31"),
        ("agosto passado", "2026-08-01 2026-08-31"),
        ("no Natal", "2025-12-25"),
        ("na segunda depois da Páscoa", "2026-04-06"),
        ("no dia 3", "2026-10-03"),
        ("dia 3 o que fizemos", "2026-10-03"),
        ("em 28/09", "2026-09-28"),
        ("há alguns dias", "2026-09-30 2026-10-07"),
        ("o que o Pedro disse sexta à noite no restaurante", "2026-10-02"),
        ("domingo de manhã o que fizemos", "2026-10-04"),
        ("o que fizemos no dia 28?", "2026-09-28"),
        ("sábado às 20h…", "2026-10-10"),
        ("depois do Natal", "2025-12-26 2026-10-07"),
        ("dia 12 do mês passado", "2026-09-12"),
        ("SEGUNDA DE MANHA O QUE FIZEMOS", "2026-10-05"),
        ("há cerca de duas semanas", "2026-09-20 2026-09-26"),
        ("no último domingo de setembro", "2026-09-27"),
    ],
)
def test_everyday_portuguese(asked: str, days: str | None) -> None:
    check_everyday(asked, days)


def test_no_period_in_everyday_portuguese() -> None:
    several = (
        "toda segunda; todas as segundas; às segundas vou à piscina; toda segunda de manhã; aos domingos"
        "; aos sábados de manhã; todo dia; todos os dias; todo verão; de manhã bebo café"
        "; por três dias ficou doente; o curso dura duas semanas; duas vezes por semana; uma vez por mês"
        "; tem três anos; a segunda porta; a segunda vez; uma quarta parte; na segunda fila; de segunda mão"
        "; bom dia; boa tarde; no dia seguinte; um dia desses; às oito da manhã; roupa de verão; dia a dia"
    )
    for asked in several.split("; "):
        check_everyday(asked, None)


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ("через неделю…", "2026-10-11 2026-10-17"),
        ("с начала месяца", "2026-10-01 2026-10-10"),
        ("3 числа", "2026-10-03"),
        ("3-го числа", "2026-10-03"),
        ("несколько дней назад", "2026-09-30 2026-10-07"),
        ("28 числа что было", "2026-09-28"),
        ("через месяц…", "2026-11-01 2026-11-30"),
        ("в начале недели", "2026-10-05 2026-10-07"),
        ("в конце недели", "2026-10-09 2026-10-11"),
        ("к концу года", "2026-09-01 2026-12-31"),
        ("после Рождества", "2026-01-08 2026-10-07"),
        ("месяц тому назад", "2026-09-01 2026-09-30"),
        ("неделю тому назад", "2026-09-27 2026-10-03"),
        ("В ПОНЕДЕЛЬНИК УТРОМ ЧТО ДЕЛАЛИ", "2026-10-05"),
        ("с начала года", "2026-01-01 2026-10-07"),
    ],
)
def test_everyday_russian(asked: str, days: str | None) -> None:
    check_everyday(asked, days)


def test_no_period_in_everyday_russian() -> None:
    several = (
        "каждый понедельник; каждое утро; каждую среду утром; по понедельникам хожу в бассейн"
        "; по утрам пью кофе; утром я пью кофе; каждый год; каждое лето; раз в неделю; два раза в месяц"
        "; три дня болел; курс длится две недели; в течение трех дней; ему три года; сыну 5 лет"
        "; окружающая среда; добрый день; доброе утро; второе блюдо; первый раз; на следующий день"
        "; в один прекрасный день; в 8 часов утра; изо дня в день; зимняя одежда; день рождения Ани"
        "; сколько стоит страховка в год; пять минут назад; каждые две недели; больше недели; день за днем"
        "; по выходным спим; раз в год; сколько раз в неделю; песня Лето; Весна Петровна; три часа подряд"
        "; каждый первый понедельник месяца"
    )
    for asked in several.split("; "):
        check_everyday(asked, None)


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ("週末に何をした？", "2026-10-03 2026-10-04"),
        ("3日に何をした？", "2026-10-03"),
        ("9/28に何をした？", "2026-09-28"),
        ("数日前", "2026-09-30 2026-10-07"),
        ("去年の年末", "2025-09-01 2025-12-31"),
        ("来月の第2土曜日…", "2026-11-14"),
    ],
)
def test_everyday_japanese(asked: str, days: str | None) -> None:
    check_everyday(asked, days)


def test_no_period_in_everyday_japanese() -> None:
    several = (
        "毎週月曜日; 毎朝; 毎日; 毎年; 毎月; 三日間病気だった; コースは2週間続く; 週に2回; 月に1回; 3歳です"
        "; おはようございます; 日曜大工; 春巻き; 秋刀魚; 翌日; 一日中; 8時間; 次の日; 3日かかった"
        "; 毎朝コーヒーを飲む"
    )
    for asked in several.split("; "):
        check_everyday(asked, None)


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ("上上周五", "2026-09-25"),
        ("下个星期一…", "2026-10-12"),
        ("周末做了什么", "2026-10-03 2026-10-04"),
        ("月底", "2026-10-21 2026-10-31"),
        ("3号做了什么", "2026-10-03"),
        ("9/28做了什么", "2026-09-28"),
        ("几天前", "2026-09-30 2026-10-07"),
        ("年底…", "2026-09-01 2026-12-31"),
        ("2024年年底", "2024-09-01 2024-12-31"),
        ("去年年底", "2025-09-01 2025-12-31"),
        ("上个月月底", "2026-09-21 2026-09-30"),
        ("九月的最后一个星期天", "2026-09-27"),
        ("下个月的第二个星期六…", "2026-11-14"),
    ],
)
def test_everyday_chinese(asked: str, days: str | None) -> None:
    check_everyday(asked, days)


def test_no_period_in_everyday_chinese() -> None:
    several = (
        "每周一; 每个星期一; 每天早上; 每天; 每年; 每年夏天; 每个月; 病了三天; 课程持续两周; 每周两次; 他三岁"
        "; 早上好; 第二天; 一天三次; 三个小时; 天气怎么样; 周先生; 有一天; 3号线在哪"
        "; 每个月的第一个星期一开例会"
    )
    for asked in several.split("; "):
        check_everyday(asked, None)
