"""Texts that somebody has pasted into a message are not their statements: mails, replies, logs, code, and texts of other people."""

# ruff: noqa: E501 -- pasted texts

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_core.items.capture import exchange, rules
from tests.growth import MOST_GROWTH, measure_growth

PASTED = {
    "mail with header": "From: Jane Doe <jane@x.org>\nTo: me\nSubject: Flat\n\nHi,\nmy new address is 12 Oak Street. I prefer tea.\nJane",
    "mail no header": "Can you answer this?\n\nHi Tom,\n\nmy new address is 12 Oak Street. I work at Siemens. My daughter is called Mia.\n\nBest regards,\nJane",
    "dear mail": "Dear Mr Smith,\nI live in Berlin. My phone is a Pixel. I always take the train on Mondays.\nKind regards\nAnna Weber",
    "german mail": "Liebe Frau Kern,\n\nich wohne in Hamburg. Mein Hund heißt Rex. I live in Hamburg since 2019.\n\nMit freundlichen Grüßen\nP. Maier",
    "on wrote": "On Tue, 3 Mar 2026 at 10:02, Jane <jane@x.org> wrote:\nI live in Berlin. My dog is called Rex.\nI prefer tea.",
    "am schrieb": "Am 3. März 2026 um 10:02 schrieb Jane <jane@x.org>:\nI live in Berlin. My dog is called Rex.",
    "le a ecrit": "Le mar. 3 mars 2026 à 10:02, Jane <jane@x.org> a écrit :\nI live in Berlin. My dog is called Rex.",
    "original message": "-----Original Message-----\nI live in Berlin. My dog is called Rex.",
    "forwarded": "---------- Forwarded message ---------\nI live in Berlin. My dog is called Rex.",
    "begin forwarded": "Begin forwarded message:\n\nI live in Berlin. My dog is called Rex.",
    "chat log": "[10:02] Jane: I live in Berlin\n[10:03] Tom: My dog is called Rex\n[10:04] Jane: I prefer tea",
    "whatsapp": "03/03/26, 10:02 - Jane: I live in Berlin\n03/03/26, 10:03 - Tom: My dog is called Rex",
    "slack": "Jane  10:02 AM\nI live in Berlin. My dog is called Rex.\nTom  10:03 AM\nI prefer tea.",
    "postscript of a letter": "I live in Berlin.\n\nKind regards,\nJane\n\nPS: My dog is called Rex.",
    "below a signature": "I live in Berlin. My dog is called Rex.\nCheers, Jane\n--\nJane Weber\nSiemens AG",
    "sent from a phone": "I live in Berlin. My dog is called Rex.\n\nSent from my iPhone",
    "automatic reply": "Automatic reply: Offer\n\nI live in Berlin. My dog is called Rex.",
    "forwarded in a chat": "Forwarded from Jane W.\nI live in Berlin. My dog is called Rex.",
    "to several": "Hello everyone,\n\nI live in Berlin. My dog is called Rex.",
    "somebody sent this": "My colleague sent me this on chat\n\nI live in Berlin. My dog is called Rex.",
    "declaration": "I, Jane Weber, declare:\nI live in Berlin. My dog is called Rex.",
    "minutes": "Meeting of May 3\nAttendees: Jane, Tom\nWe decided to move to Berlin. My dog is called Rex.",
    "three quotation marks": '"""\nI live in Berlin.\nMy dog is called Rex.\n"""',
    "names on their own lines": "Jane Doe\nI live in Berlin.\nTom\nok\nJane Doe\nMy dog is called Rex.",
    "names of a server": "@jane:x.example: I live in Berlin\n@tom:x.example: My dog is called Rex",
    "stars in words": "Jane W.\n5 stars\nI live in Berlin. My dog is called Rex.",
    "byline": "My city\nby Jane – Mar 3, 2026\nI live in Berlin. My dog is called Rex.",
    "slack with the time below": "Jane Doe\n  10:02 AM\nI live in Berlin.\n10:03\nMy dog is called Rex.",
    "teams": "[Yesterday 10:02] Doe, Jane\nI live in Berlin.\n[Yesterday 10:03] Weber, Tom\nMy dog is called Rex.",
    "speaker lines": "Jane: I live in Berlin.\nTom: My dog is called Rex.\nJane: I prefer tea.",
    "log": "2026-03-03 10:02:11 INFO my server is called titan\n2026-03-03 10:02:12 ERROR I live in /tmp\nMy database is called prod-1",
    "syslog": "Mar  3 10:02:11 host app[12]: my server is called titan\nMar  3 10:02:11 host app[12]: I prefer IPv6",
    "traceback": "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    my_name = 'Rex'\nValueError: my dog is called Rex",
    "code": "def f():\n    # I live in Berlin\n    # My dog is called Rex\n    return 'I prefer tea'",
    "js": "// My dog is called Rex\nconst x = 'I live in Berlin';\nfunction g() { return 'I prefer tea'; }",
    "sql": "-- My dog is called Rex\nSELECT * FROM t WHERE name = 'I live in Berlin';",
    "yaml": "name: app\ndescription: My dog is called Rex\nauthor: I live in Berlin",
    "diff": "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-I live in Berlin\n+My dog is called Rex",
    "quote >": "> I live in Berlin.\n> My dog is called Rex.\nwhat do you think?",
    "quote |": "| I live in Berlin.\n| My dog is called Rex.",
    "says that": "Jane wrote me: I live in Berlin. My dog is called Rex.",
    "translate": "Translate this: I live in Berlin. My dog is called Rex.",
    "summarize": "Please summarize the following text.\n\nI live in Berlin. My dog is called Rex. I prefer tea.",
    "proofread": "Can you proofread this?\nI live in Berlin. My dog is called Rex.",
    "whats wrong": "What's wrong with this sentence: my dog is called Rex",
    "what does mean": 'Explain this message I got: "I live in Berlin and my dog is called Rex."',
    "article": "Here is the article:\n\nMy dog is called Rex, said Ana. I live in Berlin, she added.",
    "review": "Here is a review I found:\nI live in Berlin. My dog is called Rex.",
    "html": "<p>I live in Berlin.</p><p>My dog is called Rex.</p>",
    "json": '{"text": "I live in Berlin.", "dog": "My dog is called Rex."}',
    "xml tag": "<email>\nI live in Berlin. My dog is called Rex.\n</email>",
    "lang rewrite": "Rewrite: I live in Berlin and my dog is called Rex.",
    "uebersetze": "Übersetze bitte: I live in Berlin. My dog is called Rex.",
    "traduis": "Traduis ceci : I live in Berlin. My dog is called Rex.",
    "resume": "Resume este texto:\nI live in Berlin. My dog is called Rex.",
    "tilde fence": "look:\n~~~\nI prefer tea. My dog is called Rex.\n~~~",
    "long fence": "look:\n````\nI prefer tea.\n```\nMy dog is called Rex.\n````",
    "indented": "Here's what it holds\n\n    I prefer tea\n    My dog is called Rex",
    "list in yaml": "notes:\n  - Merk dir, dass mein Hund Rex heißt.\n  - I live in Berlin.\n  - I prefer tea.",
    "title of an advert": "Se alquila habitación en Cádiz, 410 €/mes, gastos aparte\n\nHola! Soy Elvira y vivo con un gato. No fumo. Trabajo en casa, así que prefiero a alguien que salga.\n\n¿te parece caro?",
    "indented by tabs": "Here's what it holds\n\n\tI prefer tea\n\tMy dog is called Rex",
    "page": "From https://example.com/about:\nI live in Berlin. Remember to always use sunscreen.",
    "what do you think": "What do you think of this tweet?\n\nI moved to Berlin last week. My favourite food is waffles.",
    "dashes": "Carla — I live in Berlin.\nTom — My dog is called Rex.",
    "bold name": "**Carla**\nI live in Berlin.\n\n**Tom**\nI prefer tea.",
    "stamped name": "Carla (10:02): I live in Berlin.",
    "speech of two lines": "Jane: I live in Berlin.\nI prefer tea.\nTom: My dog is called Rex.\nI work at Siemens.",
    "quote of two paragraphs": '"I live in Berlin.\n\nMy dog is called Rex."\n\nWhat does she mean?',
    "curly quotes": "She texted ‘I live in Berlin. My dog is called Rex.’",
    "asked behind": "I live in Berlin. My dog is called Rex.\n\nTranslate this into French.",
    "asked behind, mail": "I live in Berlin. My dog is called Rex.\n\nSummarise the mail above.",
    "asked behind, de": "Ich wohne in Berlin. Mein Hund heißt Rex.\n\nWas soll ich ihr antworten?",
    "asked behind, fr": "J'habite à Berlin. Mon chien s'appelle Rex.\n\nQue dois-je lui répondre ?",
    "asked behind, es": "Vivo en Berlín. Mi perro se llama Rex.\n\n¿Qué le contesto?",
    "document": "# MyProject\n\nAlways run make test. I live in Berlin.\n\n## License\nMIT",
    "lyrics": "The lyrics go: I live in Berlin and my dog is called Rex.",
    "poem": "Improve this poem:\nI live in the sea",
    "part to play": "Let's play: you are the doctor and I am the patient. I am allergic to nuts.",
    "part to play, de": "Du bist ein Arzt und ich bin der Patient. Ich bin allergisch gegen Nüsse.",
    "prompt": "Write a system prompt: You are Jane. Always answer in French. I live in Berlin.",
    "bio": "Rate my friend's bio:\n\nI'm Jane. I live in Berlin.",
    "poem, de": "Schreib mir ein Gedicht. Ich wohne im Meer. Mein Hund heißt Rex.",
    "mail, it": "Oggetto: Trasloco\n\nI live in Berlin. My dog is called Rex.",
    "mail, zh": "总结这封邮件：\nI live in Berlin. My dog is called Rex.",
    "schreef": "Op di 3 mrt. 2026 om 10:02 schreef Joris <j@x.org>:\nI live in Berlin. My dog is called Rex.",
    "name below": "We moved to Berlin in May. My dog is called Rex.\nOur new number is 12.\n\nJane Weber",
    "closed as letters are": "I wanted to let you know that I live in Berlin now. My dog is called Rex.\n\nKind regards,\nJane",
    "closed as letters are, de": "Ich wohne jetzt in Berlin. Mein Hund heißt Rex.\n\nMit freundlichen Grüßen\nJana",
    "closed as letters are, fr": "J'habite à Berlin. Mon chien s'appelle Rex.\n\nCordialement,\nClaire",
    "closed as letters are, es": "Vivo en Berlín. Mi perro se llama Rex.\n\nAtentamente,\nJorge",
    "closed by hand": "I live in Berlin. My dog is called Rex.\n\nAll the best,\nAunt Jane",
    "closed in a way of its own": "I live in Berlin. My dog is called Rex.\n\nUntil the spring,\nJane Weber",
    "closed on its last line": "I live in Berlin. My dog is called Rex. Kind regards, Jane",
    "closed by a full name": "I live in Berlin. My dog is called Rex.\n\nBest,\nAnna Weber",
    "best": "Hi all,\nmy dog is called Rex. I prefer tea.\nBest,\nJane",
    "issue": "jane commented 2 hours ago\nI live in Berlin. My dog is called Rex.",
    "ticket": "AB-12 Comment by Jane Doe added a comment - 03/Mar/26\nI live in Berlin.",
    "forum": "u/jane · 3h ago\nI live in Berlin. My dog is called Rex.",
    "post": "@jane · Mar 3\nI live in Berlin. My dog is called Rex.",
    "letters for speakers": "Q: Where?\nA: I live in Berlin.\nI prefer tea.",
    "numbered speakers": "Speaker 1: I live in Berlin.\nSpeaker 2: My dog is called Rex.",
    "file": "Contents of /home/jane/notes.txt:\nI live in Berlin.\nMy dog is called Rex.",
    "file by its name": "@notes.txt\nI live in Berlin.\nMy dog is called Rex.",
    "no colon": "here is the article text\n\nTen tips for sleep. I prefer hard pillows.",
    "this, de": "Schreib das freundlicher:\n\nIch wohne in Berlin. Mein Hund heißt Rex.",
    "is this": "I was born in Berlin in 1970.\n\nis this a good opening?",
    "what is this": "what song is this\n\nI live in Berlin\nMy dog is called Rex",
    "stars": "★★★★☆ Great shoes\nI live in Berlin. My dog is called Rex.",
    "review of a shop": "Great shoes\nReviewed in Germany on 3 March 2026\nI live in Berlin. My dog is called Rex.",
    "answer of a forum": "I live in Berlin. My dog is called Rex.\n\nanswered Mar 3 at 10:02\njane",
    "clauses": "4.1 I live in Berlin.\n4.2 My dog is called Rex. I prefer tea.",
    "clause": "Can you explain this clause?\n\nI prefer to be called by phone. I live in Berlin.",
    "columns": "why does it fail?\n\nE     - I live in Berlin\nE     + My dog is called Rex",
    "event": "BEGIN:VEVENT\nDESCRIPTION:My dog is called Rex. I live in Berlin.\nEND:VEVENT",
    "shell": "$ echo I live in Berlin\nI live in Berlin\n$ whoami\nMy dog is called Rex",
}


# Texts of others, and messages of people's own with a fact in each, that the rules were not written for.
UNSEEN: dict[str, Any] = json.loads((Path(__file__).parents[2] / "data" / "pasted.json").read_text(encoding="utf-8"))
MOST_LEAKED, MOST_MISSED = 2, 5  # of 60 and of 27


def find(said: str) -> list[str]:
    turns = exchange.read_exchange([{"role": "user", "content": said}], max_tokens=3000).turns
    return [found.content for found in rules.find_facts(turns, now=0)]


@pytest.mark.parametrize("text", PASTED.values(), ids=PASTED)
def test_nothing_is_kept_of_it(text: str) -> None:
    assert find(text) == []


def test_nearly_nothing_is_kept_of_what_the_rules_were_not_written_for() -> None:
    assert len(UNSEEN["pasted"]) == 60
    assert len([text for text in UNSEEN["pasted"] if find(text)]) <= MOST_LEAKED


def test_most_is_kept_of_own_messages_that_the_rules_were_not_written_for() -> None:
    missed = [own["said"] for own in UNSEEN["own"] if not any(own["must"] in fact for fact in find(own["said"]))]
    assert len(missed) <= MOST_MISSED


ASKED = "I moved to Ghent last month and I don't know anybody here. I work nights at the port. {} Where could I meet people?"


@pytest.mark.parametrize(
    "text",
    [
        "from my sister, can you check it\n\n" + ASKED.format(""),  # another hand, below a remark
        ASKED.format("") + "\n\nNell",
        ASKED.format("").replace("here. I", "here.\nI").replace("month and", "month\nand"),  # wrapped
        ASKED.format("").replace("Where could I meet people?", "See you in May!"),  # asks for nothing
        ASKED.format("").replace("Where could I meet people?", "Where do you go out?"),  # asks about somebody else
        ASKED.format("").replace("Where could I meet people?", "Please remember that."),
        "Hi Priya, " + ASKED.format(""),
        "Profile of the week. " + ASKED.format(""),  # does not begin with its writer
        "Where is that?\n\n" + ASKED.format("").replace("Where could I meet people?", "I like it."),
        ASKED.format("").replace("Where could I meet people?", "") + "\n\nWould that be a good opening for a letter?",
        "Translation: " + ASKED.format(""),
        "The user says so: " + ASKED.format(""),
    ],
)
def test_a_longer_text_in_doubt_is_not_its_writers(text: str) -> None:
    assert find(text) == []


@pytest.mark.parametrize(
    "text",
    [
        ASKED.format(""),
        ASKED.format("") + "\n\nThanks",
        "Hi Claude, " + ASKED.format(""),
        ASKED.format("").replace("Where could I meet people?", "Make me a list of clubs."),
        ASKED.format("").replace(" Where", "\n\nWhere"),
        "Where could I meet people?\n\n" + ASKED.format(""),
        ASKED.format("Some things that I like:\n- chess\n- boats\n\n"),
        "I moved to Ghent last month, as you know, since the port wanted somebody who speaks Polish and who works at night.",
    ],
)
def test_a_longer_message_that_begins_with_its_writer_and_asks_for_something_is_theirs(text: str) -> None:
    assert any("moved to Ghent" in fact for fact in find(text))


@pytest.mark.parametrize(
    "name", ["on wrote", "forwarded", "original message", "log", "article", "dear mail", "mail with header"]
)
def test_what_is_said_before_it_is_kept(name: str) -> None:
    assert find(f"I work at Siemens.\n\n{PASTED[name]}") == ["I work at Siemens."]


@pytest.mark.parametrize(
    "text",
    [
        "My dog is called Rex. I prefer tea.\n\nBest, Anna",
        "My dog is called Rex.\nI prefer tea.\nBest,\nAnna",
        "My dog is called Rex. I prefer tea.\n\nAnna",
        "My dog is called Rex. I prefer tea.\n\nThanks, best, Anna",
        "My dog is called Rex. I prefer tea.\n\nBest wishes\nAnna",
    ],
)
def test_a_short_message_that_its_writer_has_signed_is_theirs(text: str) -> None:
    assert find(text) == ["My dog is called Rex.", "I prefer tea."]


@pytest.mark.parametrize(
    "text",
    [
        "Hi Tom,\n\nmy dog is called Rex. I prefer tea.\n\nBest,\nAnna",
        "Hello,\nmy dog is called Rex. I prefer tea.\nBest,\nAnna",
        "From: Anna <anna@x.example>\n\nMy dog is called Rex. I prefer tea.\n\nBest,\nAnna",
        "My dog is called Rex.\n\nWe moved to Berlin in May. I prefer tea.\n\nBest,\nAnna",
        "My dog is called Rex. I prefer tea.\n\nBest,\nAnna Weber\nHead of Sales\nSiemens AG",
    ],
)
def test_a_letter_is_not(text: str) -> None:
    assert find(text) == []


def test_documents_and_files_of_a_message_are_not_its_words() -> None:
    parts = [{"type": "text", "text": "My dog is called Rex."}, {"type": "text-plain", "text": "I live in Berlin."}]
    turns = exchange.read_exchange([{"role": "user", "content": parts}], max_tokens=100).turns
    assert [turn.text for turn in turns] == ["My dog is called Rex."]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Hi! My daughter is called Mia. I prefer tea.", ["My daughter is called Mia.", "I prefer tea."]),
        ("Note: my new address is 12 Oak Street", ["My new address is 12 Oak Street"]),
        ("My dog is called Rex.\n\nThanks", ["My dog is called Rex."]),
        ("My dog is called Rex.\nspasibo", ["My dog is called Rex."]),
        ("My dog is called Rex.\nчто скажешь", ["My dog is called Rex."]),
        ("My dog is called Rex.\n明天见", ["My dog is called Rex."]),
        (
            "I live in Berlin. Here is the log:\n2026-03-03 10:02:11 INFO my server is called titan",
            ["I live in Berlin."],
        ),
        ("Hello,\nmy dog is called Rex.", ["My dog is called Rex."]),
        ("At 10:30 I have breakfast. My dog is called Rex.", ["My dog is called Rex."]),
        ("My dog is called Rex.\n\nCan you explain this error?", ["My dog is called Rex."]),
        ("My dog is called Rex.\n\nIs this normal for him: he sleeps all day?", ["My dog is called Rex."]),
        ("My site is kestrel.example\nI live in Berlin.", ["I live in Berlin."]),
        ("Remember this:\nI live in Berlin.", ["I live in Berlin."]),
        ("My dog is called Rex.\n\nTranslate this into French:\n\nI live in Berlin.", ["My dog is called Rex."]),
        ("My dog is called Rex.\n\nCan you write the vet a mail?", ["My dog is called Rex."]),
        ("Hi Claude\n\nMy dog is called Rex. I prefer tea.\n\nThanks", ["My dog is called Rex.", "I prefer tea."]),
        ("Trip to Rome\nI prefer tea. My dog is called Rex.", ["I prefer tea.", "My dog is called Rex."]),
        ("My week:\nMonday: gym\nTuesday: choir\n\nI prefer tea.", ["I prefer tea."]),
        ("I prefer tea.\n\nWhat I can't eat:\nNuts\nShrimp\nMilk", ["I prefer tea."]),
        ("TypeError: x is undefined\n    at foo (a.js:3)\n\nMy dog is called Rex.", ["My dog is called Rex."]),
        ("I like red,green,blue. My dog is called Rex.", ["My dog is called Rex."]),
        ("08:00 gym\n09:00 work\n\nMy dog is called Rex.", ["My dog is called Rex."]),
        ("I gave it ★★★☆☆ yesterday. My dog is called Rex.", ["My dog is called Rex."]),
        (
            "My dog is called Rex. I prefer tea.\nBest regards to your makers :)",
            ["My dog is called Rex.", "I prefer tea."],
        ),
        ("I live in Berlin.\nMy dog is called Rex.\n\nLG\nAnna", ["I live in Berlin.", "My dog is called Rex."]),
        ("Remember all of these:\nI live in Berlin.", ["I live in Berlin."]),
        ("4.1 is the release we use. My dog is called Rex.", ["My dog is called Rex."]),
        ('My boss wrote me this:\n\n"I live in Berlin."\n\nMy dog is called Rex.', ["My dog is called Rex."]),
        (
            "I prefer tea\nI live in Berlin\nMy dog is called Rex",
            ["I prefer tea", "I live in Berlin", "My dog is called Rex"],
        ),
        ("Some facts:\n- My dog is called Rex.\n- I live in Berlin.", ["My dog is called Rex.", "I live in Berlin."]),
        ("Remember:\n  - My dog is called Rex.\n  - I live in Berlin.", ["My dog is called Rex.", "I live in Berlin."]),
        ("here's what I want:\n- I prefer tea.\n- I live in Berlin.", ["I prefer tea.", "I live in Berlin."]),
        (
            "Remember these:\n1. I live in Berlin.\n    - My dog is called Rex.",
            ["I live in Berlin.", "My dog is called Rex."],
        ),
    ],
)
def test_what_people_say_themselves_is_kept(said: str, kept: list[str]) -> None:
    assert [each for each in find(said) if each in kept] == kept


@pytest.mark.parametrize(
    "said",
    [
        "I'm vegetarian. Just kidding.", "The gate opens at 7. Wait, that's wrong.", "My name is Bob. Don't remember that.",
        "I live in Oslo. Scratch that.", "Ich wohne in Bonn. War nur ein Witz.", "Ich heiße Bob. Merk dir das nicht.",
        "J'habite à Lyon. C'est faux.", "Me llamo Bob. Olvida eso.", "Vivo en Toledo. Era broma.",
    ],
)  # fmt: skip
def test_what_is_taken_back_in_the_next_sentence_is_not_kept(said: str) -> None:
    assert find(said) == []


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("My dog is called Rex. No, I don't have a cat.", "My dog is called Rex."),
        ("My dog is called Rex. That's not wrong.", "My dog is called Rex."),
        ("I live in Oslo. Actually I like it there.", "I live in Oslo."),
    ],
)
def test_what_follows_is_no_correction(said: str, kept: str) -> None:
    assert any(kept in fact for fact in find(said))


@pytest.mark.parametrize(
    "piece",
    [
        "a  ",
        "a b  ",
        "a | ",
        "a\t",
        "a;b",
        "a,b ",
        "a.b.",
        "Error",
        "**a",
        "Q1. a ",
        "Updated 2 ",
        "npm ",
        "---\n",
        "A B\n",
        "> ",
        "„a\n",
        "a:\n",
        "a. Yours, ",
        "kannst du ",
        "me da. ",
        "I a? ",
        "a: ",
        "a:\n- b\n",
        '"""',
    ],
)
def test_hostile_pages_take_no_quadratic_time(piece: str) -> None:
    def read(times: int) -> None:
        for ending in ("", ".", "?", "\nBest,\nAnna"):
            find((piece * 4000)[: 300 * times] + ending)

    assert measure_growth(read, 40) < MOST_GROWTH
