"""Pieces of phrases, from which the patterns of capture are made.

In a pattern, `<NAME>` stands for a piece below, line breaks with the indentation behind them count for nothing, and only `[A-Z]`
minds the case.
"""

from __future__ import annotations

import re

Pattern = re.Pattern[str]

_MONTHS = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_PIECES = {
    "MONTH": _MONTHS,
    "DAY": _DAY,
    "DATE": rf"(?:\b{_DAY}s?\b|\b\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of )?{_MONTHS}\b|\b{_MONTHS} \d{{1,4}}|\b(?:in|until|by"
    rf"|since|from) {_MONTHS}\b"
    r"|\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}\b|\btomorrow\b|\bnext (?:week|month|year|spring|summer|autumn|fall|winter)\b"
    r"|\bthe \d{1,2}(?:st|nd|rd|th)\b|\b\d{1,2}:\d\d\b|\b\d{1,2} ?[ap]\.?m\b|\bat (?:noon|midnight|\d{1,2})\b|\bnoon\b"
    r"|\b(?:end|middle|start|beginning) of (?:the )?(?:month|year|week|quarter|summer|" + _MONTHS + r"))",
    # Words before the subject, and between it and its verb.
    "OPENING": r"(?:(?:for|in|on|at|when|after|before|during|as|since|with|from|usually|most) [^,.;:]{1,40}?,? )?",
    "ADVERBS": r"(?:(?:also|always|really|generally|usually|normally|still|just|only|personally|actually|definitely|strongly"
    r"|mostly"
    r"|now|currently|both|absolutely|honestly|much|very|finally|all|already|officially|recently|typically|mainly"
    r"|do|truly|simply"
    r"|even|originally|never|rarely) )*",
    "I": r"(?:I|we|my \w+ and I)(?:'ve|'m|'re|'d| am| are| have| would)?",
    "PEOPLE": r"(?:wife|husband|partner|girlfriend|boyfriend|fianc\w+|spouse|mother|mom|mum|mama|father|dad|papa|parents?"
    r"|sisters?"
    r"|brothers?|siblings?|sons?|daughters?|kids?|child|children|bab(?:y|ies)|toddler|twins?|grand\w+|aunt\w*"
    r"|uncle|cousins?|nieces?"
    r"|nephews?|\w+-in-law|step\w+|boss|manager|supervisor|assistant|colleagues?|cowork\w+|co-?founder|landlord"
    r"|landlady|neighbou?rs?"
    r"|roommates?|flatmates?|housemates?|friends?|dentist|doctor|gp|\w+ologist|therapist|lawyer|accountant"
    r"|trainer|coach|teacher"
    r"|tutor|professor|advis[eo]r|mentor|clients?|customers?|supplier|vendor|contractor|plumber|electrician"
    r"|babysitter|nanny|vet"
    r"|barber|hairdresser|physio\w*|dogs?|cats?|pupp(?:y|ies)|kittens?|horse|parrot|rabbits?|hamster|pets?|team"
    r"(?: lead)?|tech lead"
    r"|intern|secretary|ceo|cto|cfo|ex|godmother|godfather)",
    "THINGS": r"(?:car|bike|boat|van|truck|house|flat|apartment|home|office|desk|company|startup|employer|university|school"
    r"|bank|gym"
    r"|insurance|phone|laptop|computer|birthday|anniversary|blood type|shoe size|size|height|weight|surname"
    r"|last name|first name"
    r"|middle name|maiden name|nickname|pronouns|handle|username|(?:e-?)?mail(?: address)?|address|postcode"
    r"|zip code|phone number"
    r"|number|time ?zone|budget|salary|rent|deadline|job(?: title)?|title|role|major|thesis|hobby|hobbies|mother tongue"
    r"|(?:native|first) language|shift|(?:working|office|opening) hours|hometown|goal|editor|stack|setup|domain"
    r"|website|blog|product"
    r"|server|cluster|database|fiscal year|year|policy|convention|codebase|team|tax rate|rate|allergy|diet|flight"
    r"|train|trip)",
    "EVENT": r"(?:deadlines?|due date|appointments?|meetings?|flights?|exams?|interviews?|launch|release|trip|wedding"
    r"|surgery|operation"
    r"|part(?:y|ies)|conference|birthday|anniversar\w+|course|class|lessons?|training|game|match|concert|delivery"
    r"|review|retro\w*"
    r"|stand-?up|sprint|demo|holidays?|vacation|visit|check-?up|train|ferry|contract|lease|subscription|warranty"
    r"|visa|passport"
    r"|licen[cs]e|insurance|semester|term|school|rent|invoice|payment|tax(?:es)?|audit|workshop|presentation"
    r"|ceremony|graduation"
    r"|plumber|offsite|off-site|kick-?off|webinar|lecture|hearing|inspection|viewing|move|year)",
    "DECIDED": r"(?:decided|agreed|settled|chosen|chose|opted|voted|resolved|concluded|committed|signed off|plumped"
    r"|ended up|made up (?:my|our) minds?)",
    # What no decision is about: the work of the moment.
    "TASK": r"(?:just|restart|retry|revert|rerun|re-run|try|ignore|skip|undo|refactor|rewrite|keep it|leave it|drop it"
    r"|use it|give up|wait|stop"
    r"|fix|debug|delete|remove|see|look|check|find|test|grab|disagree|take a|get|order|eat|have|restructure)",
    "VAGUE": r"(?:your|it|that|this|them|these|those|so|something|anything|option|another|again|one of|plan [a-d]"
    r"|the (?:wrong|right|flow|first|second|third|fourth|last|latter|former|other|same|next|new|old|previous|one|file|table"
    r"|column|code|branch|approach|loop|recursive|iterative|simple|simpler|shorter|longer|default))\b",
}


def compile_one(pattern: str) -> Pattern:
    """Return a pattern written as above."""
    joined = re.sub(r"\n\s*", "", pattern)
    filled = re.sub(r"<([A-Z]+)>", lambda found: _PIECES[found[1]], joined)
    return re.compile(filled.replace("[A-Z]", "(?-i:[A-Z])"), re.IGNORECASE)


def compile_all(*patterns: str) -> tuple[Pattern, ...]:
    """Return several patterns; a sentence needs to match one."""
    return tuple(map(compile_one, patterns))
