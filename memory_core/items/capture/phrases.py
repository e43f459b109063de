"""The phrases by which people state facts, and those of sentences that state none: English, and the commonest of others.

In a pattern, `<NAME>` stands for one of the pieces below, line breaks with the indentation behind them count for nothing, and
only `[A-Z]` minds the case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from memory_core.text.dates import WEEKDAYS

Pattern = re.Pattern[str]

_MONTHS = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?)"
)
WEEKDAY = f"(?:{'|'.join(WEEKDAYS)})"
_PIECES = {
    "MONTH": _MONTHS,
    "DAY": WEEKDAY,
    "DATE": rf"(?:\b{WEEKDAY}s?\b|\b\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of )?{_MONTHS}\b|\b{_MONTHS} \d{{1,4}}|\b(?:in|until|by"
    rf"|since|from) {_MONTHS}\b"
    r"|\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}\b|\btomorrow\b|\bnext (?:week|month|year|spring|summer|autumn|fall|winter|"
    + _MONTHS
    + r")\b"
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
    "HOME": r"(?:car|bike|licen[cs]e|dog|cat|pets?|kids|children|siblings|brothers?|sisters?|tv|television|garden|balcony|oven"
    r"|dishwasher|freezer|microwave|printer|smartphone|landline|lift|elevator|parking|credit card)\b",
    "BODY": r"(?:back|knees?|hips?|shoulders?|eyes?|eyesight|heart|stomach|skin|hearing|wrists?|ankles?|blood pressure|lungs?)\b",
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


def compile_one(pattern: str, pieces: Mapping[str, str] = _PIECES) -> Pattern:
    """Return a pattern written as above; a line break between two words is a space."""
    filled = re.sub(r"<([A-Z]+)>", lambda found: pieces[found[1]], pattern)
    joined = re.sub(r"\n\s*", "", re.sub(r"(?<=\w)\n\s*(?=\w)", " ", filled))
    return re.compile(joined.replace("[A-Z]", "(?-i:[A-Z])"), re.IGNORECASE)


def compile_all(*patterns: str) -> tuple[Pattern, ...]:
    """Return several patterns; a sentence needs to match one."""
    return tuple(map(compile_one, patterns))


# ---- Sentences that ask to be remembered.

_KEEP_WORDS = (
    r"""(?:remember|don't (?:ever )?forget|do not forget|never forget|keep in mind|bear in mind|note(?: down)?|take note
    |make a note|jot down"""
    r"|write down|save|store|memori[sz]e|know|be aware|log|record)"
)
EXPLICIT = compile_one(
    r"""^(?:(?:please|can you|could you|would you|pls|and|also|i want you to|i'd like you to|you (?:should|need to
    |must)) )*(?:"""
    + _KEEP_WORDS
    + r"""(?: (?:for (?:later|next time|the future|me)|somewhere|please|down|in your memory|to memory|well|this
    |the following)){0,2}(?:\s*[:,–—-]\s*(?:that )?| (?:that|the fact that) | (?=(?:my|our|i|i'm|we|we're)\b))|remember[ ]
    (?=the (?:(?!that\b|which\b|who\b|when\b|time|day\b|we\b|i\b|you\b|he\b|she\b|they\b)[\w'-]+ ){1,3}(?:is|are|has|have
    |will|starts?|ends?|opens?|closes?)\b)|(?:keep
    |bear) this in mind\s*[:,–—-]\s*|(?:a )?note to self\s*[:,–—-]?\s*|(?:a )?(?:reminder|note|memo|nb|psa
    |ps)\s*[:,–—-]\s*(?:that )?|fyi[\s,:–—-]+|just so you know[\s,:–—-]+(?:that )?|for (?:future reference|the record
    |your (?:information|records|notes|memory)|next time|later)[\s,:–—-]+(?:that )?|(?:it's )?(?:important|worth (?:knowing
    |noting|remembering))(?: to (?:know|note|remember))?(?:\s*:\s*| that )|(?:one thing|something|things?) to (?:remember
    |know)\s*[:,–—-]\s*|(?:bitte )?(?:merke?(?: es)? dir|notier\w*(?: dir)?|vergiss nicht|denk (?:bitte )?daran|behalte)
    (?: bitte)?(?:\s*[:,]\s*(?:dass )?| dass )|(?:por favor,? )?(?:recuerda|acuérdate(?: de)?|ten en cuenta|no olvides
    |apunta|anota)(?:\s*:\s*| que )|(?:s'il te plaît,? )?(?:souviens-toi|rappelle-toi|retiens|n'oublie pas|note
    |garde en tête)(?:\s*:\s*| que | qu')|(?:ricorda(?:ti)?|tieni presente|non dimenticare|annota)(?:\s*:\s*| che )|
    (?:覚えておいて|覚えて|メモして|忘れないで)(?:ください)?\s*[：:、,。]\s*|请?(?:记住|记一下|別忘了|别忘了)\s*[：:，,]?\s*)(?P<fact>.{4,})$"""
)
EXPLICIT_LAST = re.compile(
    r"^(?P<fact>.{4,}?)(?:と|ということを|のを|を)(?:覚えておいて|覚えて|メモして)(?:ください)?[。.!]*$"
)
# "Remember to ...": a duty, and a fact only if it is a lasting one.
TO_DO = compile_one(r"^(?:please )?(?:remember|don't forget|make sure|be sure) to (?P<what>.+)$")

# ---- Standing preferences and instructions.

STANDING = compile_one(
    r"""\b(?:from now on|going forward|from here on|in (?:the )?future|as a rule|in general|by default|always|never
    |every time|each time|any time|whenever|unless i (?:say|ask)|until (?:i say|further notice)|ever again|at all times
    |no matter|without exception|(?:for|in) all (?:my|our)|on principle|ab jetzt|von nun an|künftig|immer|nie(?:mals)?
    |grundsätzlich|siempre|nunca|de ahora en adelante|a partir de ahora|toujours|jamais|désormais|dorénavant|sempre|mai più
    |今後|これからは|いつも|以后|总是)\b"""
)
PREFERENCES = compile_all(
    r"""^<OPENING>(?:(?:I|we|my \w+ and I) <ADVERBS>(?:prefer|dislike|detest|loathe|avoid|favou?r|despise)|<I> <ADVERBS>
    (?:prefer|(?:much )?rather|sooner)\b(?=.*\b(?:than|over|always|never|if|when|instead|not)\b))\b.{3,}""",
    # Liking counts by itself only where it compares, or says when.
    r"""^<OPENING><I> <ADVERBS>(?:like|love|enjoy|hate|adore|appreciate|value|find) (?!when that)(?=\w.*\b(?:(?:more|better
    |less) than|over|rather than|instead|it when|when you|if you|but not|for|in (?:my|the|your)|on (?:my|the|<DAY>s?)|with
    |without|after|before|my|except|most(?:ly)?|at most|especially|so (?:please|don't|use|keep)|tiring|annoying|helpful
    |useful|hard to|easier)\b)""",
    r"""^<OPENING><I> <ADVERBS>(?:can't|cannot|can never|may not|must not|mustn't|shouldn't|not allowed to) (?:do (?!it
    |that|this)|lift|fly|stand|bear|tolerate|eat|drink|have|digest|live without|do without|function|work (?:on|before
    |after)|drive|swim|take)\b(?! (?:it|that|this|them|another|explained|said|been|done|any more|anymore)\b)""",
    r"""^<OPENING><I> <ADVERBS>(?:never|rarely|seldom|hardly ever|tend to|refuse to|insist on|make a point of|swear by
    |rely on|stick to|stay away from)[ ](?!know|knew|understand|understood|remember|thought|heard|saw|seen|said|did|had|was
    |got|meant|asked|wanted|mind\b|learn)\w+ \w""",
    r"""^<OPENING>(?:I|we) (?:also |both )?(?:always|usually|normally|typically|generally|mostly|mainly|only
    |exclusively) (?!just|get (?!up|home)|got|forget|forgot|see|saw|know|knew|thought|think|wonder|mix|confuse|end\b
    |understand|struggle|wanted|need|have to|hear|want|tried|did|was\b|were|google|say|said|enjoy our|\w+ed\b)\w+ \w""",
    r"""^<OPENING>(?:I|we) (?:really |just |usually |generally )?(?:don't|do not) (?:really |usually |ever )?(?:do|eat|drink
    |smoke|drive|fly|work|use|take|celebrate|own|watch|wear|answer|enjoy|travel|deploy|ship|merge|accept|buy|cook|read
    |listen|play|speak|allow|trust|meet|schedule|want (?:any|to be)|support|care for|tolerate|like) (?!(?:it|that|this|them
    |how|the)\b)\w""",
    r"""^<OPENING><I> <ADVERBS>(?:been )?(?:an? |not an? (?:big )?|no )?(?:(?:strict|lifelong|big|huge|committed
    |practi[sc]ing|proud
    |total|severe\w*|mildly|highly|mostly|very|deathly|badly) )*(?:vegetarians?|vegans?|pescatarian|allergic|lactose
    |\w*intolerant|co?eliac|gluten|left-handed|right-handed|colou?r[ -]?blind|diabetic|asthmatic|teetotal\w*|sober|dyslexic
    |deaf|hard of hearing|fans? of|into \w{4,}|more of an?|partial to|morning person|night owl|early (?:bird|riser)
    |sensitive to|muslim|jewish|hindu|buddhist|catholic|kosher|halal|introvert|extrovert|minimalist|on a \w+ diet|keto
    |scared of|terrified of|picky|particular about|fluent)\b(?!.*\b(?:code|bugs)\b)""",
    r"""^(?:my|our) (?:\w+ ){0,3}?(?:favou?rite|preferred|preference|go-to|usual|default|dream|ideal)\b.+\b(?:is|are|was
    |were|would be|remains?|has (?:always )?been)\b""",
    r"""\b(?:is|are|has always been|remains) (?:\w+ )?(?:my|our) (?:\w+ ){0,2}(?:favou?rite|preferred|preference|go-to
    |all-time|usual|thing|cup of tea|pet peeve)\b""",
    r"""^<OPENING><I> <ADVERBS>(?:take|drink|have|eat|order|keep|like) (?:my|our) \w+ (?:with|without|black|at|in|on|before
    |after|plain|white|neat)\b""",
    r"^(?:everything|all|nothing) (?:in|at|on) (?:the|my|our) (?:kitchen|house|flat|office|garden|shop|car|home|team|company)\b",
    r"^my (?:\w+ )?(?:number|address|e-?mail|name|bank|surname) (?:has |was )?(?:just )?changed\b",
    r"^I (?:always |usually |often )?get (?:migraines?|headaches|hives|\w*sick|dizzy|a rash|heartburn|hay fever)\b",
    r"""^(?:nobody|no one|none|neither|everyone|everybody|all) (?:of us|in (?:my|our) (?:family|house|home|team|company
    |office|household))\b""",
    r"""^(?:I|we)(?:'m|'re| am| are) not (?:drinking|eating|smoking|driving|flying|travell?ing) (?!<VAGUE>|now\b)\w""",
    r"""^(?:nothing|no \w+s?|never) (?:before|after|later than|earlier than|on) (?:\d|noon|<DAY>|weekends|lunch|dark)""",
    r"""^no (?:\w+ ){1,4}?(?:in (?:my|your|our|any|the)|on (?:my|our|<DAY>s)|at night|after|before|for me|ever|please
    |unless|from now)\b""",
    r"""^(?:\w+ ){1,4}(?:max|maximum|at most|only|or less|tops)\b,? (?:always|please|for me|in (?:my|your))""",
    r"""^(?:I|we)(?:'d| would)? (?:always |only )?(?:want|like|need|expect) (?:all (?:of )?|any |every |each )?(?:my
    |you to (?:always|never)|answers|replies|responses|emails|summaries|messages|reports|meetings|everything|reminders
    |notifications|explanations) .{3,}""",
    r"^(?:preferisco|odio|adoro|sono (?:allergic|vegetarian|vegan)\w*|non mangio)\b",
    r"^(?:私は|僕は|俺は)?.{1,40}(?:が好き|が嫌い|の方が好き|を好みます|が苦手|アレルギー|ベジタリアン)(?:です|だ|があります)?[。.!]*$|^我(?:不?喜欢|讨厌|对.+过敏|是素食|更喜欢)",
)
# Commands; one counts only with a word that makes it lasting, or about something that is lasting by itself.
IMPERATIVE = compile_one(
    r"""^(?:(?:from now on|going forward|in (?:the )?future|from here on|as a rule|by default|in general),? )?(?:please[ ]
    |pls |just |so )*(?:use|write|answer|reply|respond|speak|talk|address|keep|format|sign|give|send|schedule|book|call|say
    |put|add|include|start|begin|end|ask|avoid|stop|quit|skip|leave|don't|do not|(?:never|always) (?!an?\b|the\b|happy|glad
    |gonna|going|again|mind|ever\b|in\b|on\b)\w+|make|explain|show|refer|treat|assume|round|spell|translate|suggest
    |recommend|order|pay|ping|email|text|message|cc|copy|stick|check|run|tag|file|save|wake|remind|tell|let|let's|be|limit
    |convert|quote|cite|import|commit|deploy|bring|buy|pick|take|mention|summari[sz]e|list|mute|disable|enable|set|turn
    |feed|water|charge|invoice|ship|deliver|remember|change|move|create|open|close|try|fix|remove|delete|look|find|search
    |forward|go|wait|help|plan|draft|compare|get|replace|rename|merge|double-check|test|ignore|see|think|continue|repeat
    |read|describe|calculate|count|generate)\b"""
)
LASTING_IMPERATIVE = compile_all(
    r"""^(?:please )?(?:stop|quit|no more|avoid) (?:ever )?(?:using|calling|sending|writing|adding|putting|apologi[sz]ing
    |asking|giving|ending|starting|saying|telling|including|signing|suggesting|recommending|addressing|translating
    |scheduling|booking|quoting|repeating|talking|treating|reminding|texting|emailing|messaging|cc'?ing|pinging) (?!me[ ]
    (?:that|this)\b|that\b|it\b|this\b|so\b)\w""",
    r"""^(?:please )?(?:don't|do not|never) (?:ever )?(?:use|call me|send me|write|apologi[sz]e|end|sign|schedule|book
    |suggest|recommend|wake|ring|phone|email|text|contact|cc|mention|round|abbreviate|assume|put \w+ in my|order|remind
    |address|explain)\b(?=.*\b(?:my|me|any|ever|again|after|before|without|anything|<DAY>s|at night|meetings?|emails?
    |answers|emojis?|unless)\b)(?!.*\byet\b)""",
    r"""^(?:please )?(?:just )?(?:call|address) me (?!back|later|when|if|at|on|in|a\b|an\b|tomorrow|today|tonight|asap
    |again|crazy|old|lazy|stupid|dumb|paranoid|naive|biased|maybe|after|before|soon|once|up)[\w'-]+(?: [A-Z]\w+)?(?=[,.!]|$
    | (?:please|not|instead|and|from|unless|when)\b)""",
    r"^(?:my friends|everyone|everybody|people|most people|nobody|no one|they all) (?:just )?calls? me \w+",
    r"""^(?:please )?(?:use|stick (?:to|with)|give me|show me|i use) (?:the )?(?:metric|imperial|celsius|fahrenheit
    |24-?hour|british|american|uk|us|iso|kilomet\w+|miles|euros?|dollars?|pounds|they/them|she/her|he/him)\b""",
    r"""^(?:when(?:ever)?|if|every time|each time|any time) (?:you|I|we) (?:ever )?\w+.*,\s*(?:please |always |never[ ]
    |then[ ]|just )*(?:use|write|answer|reply|keep|add|put|include|start|end|ask|avoid|don't|do not|never|always|make|show
    |send|give|assume|prefer|skip|leave|say|tell|remind|book|suggest|check|format|sign|round|call)\b""",
    r"""^(?:when|if|whenever) I (?:say|write|type|ask for|mention|talk about)\b.+\bI (?:always )?mean\b|^by ["'“].+\bI[ ]
    (?:always )?mean\b|^["'“]?[\w ]{1,30}["'”]? (?:stands for|is short for|is our name for)\b""",
)

# ---- Decisions.

DECISIONS = compile_all(
    r"""^(?!(?:it|that|this|you)\b).{1,60}?\b<DECIDED>(?! (?:to <TASK>\b|on (?:that|this|it)\b|that already|<VAGUE>))(?::
    | (?:on|to|that|not|against|for|in|upon|with|choosing|picking|going|buying|taking|it's|we|the|a|an|my|our|between|as
    |unanimously|yesterday|today|last|\d|[\w-]+ (?:for|as|over|instead)))""",
    r"""^<OPENING>(?:I|we)(?:'ve| have)? (?:finally |all |just )?(?:picked|selected|went (?:with|for)|gone (?:with|for)
    |landed on|signed (?:with|the)|accepted|turned down|rejected|ruled out|scrapped|ditched|dropped|adopted
    |standardi[sz]ed on|committed to|cancell?ed|postponed|rescheduled|hired|approved|renamed|appointed|promoted|named[ ]
    (?:the|our|him|her)) (?!up\b|<VAGUE>|(?:a|the) (?:bit|few)\b)\w""",
    r"""^<OPENING>(?:I|we)(?:'ve| have)? (?:just |already |finally )?(?:booked|reserved|bought|ordered|signed up|enrolled
    |registered) (?!<VAGUE>).*(?:<DATE>|\b(?:in|for|from|at|with) (?:the )?[A-Z])""",
    r"""\b(?:is|are|was|were|has been|have been|got|gets|being|will be|'s been) (?:now |been )?(?:(?:moved|pushed(?: back)?
    |shifted|brought forward)\b(?=.*<DATE>)|(?:postponed|delayed|cancell?ed|called off)\b(?=.*(?:<DATE>|\b[A-Z]\w))
    |rescheduled|set for|scheduled for|fixed for|confirmed for|decided|agreed|approved)\b""",
    r"""^(?:the (?:board|management|council|committee|client|customer|team|landlord|bank|school|city)|management|hr|legal
    |my (?:boss|manager|landlord)) (?:has |have )?(?:approved|agreed|signed|accepted|rejected|confirmed|decided|refused
    |cancell?ed)\b""",
    r"^(?:I'll|I will|we'll|we will) (?:go with|take|stick with|have|go for|use) (?!<VAGUE>)(?:the |a |an )?[A-Z]\w+",
    r"^let's (?:do|have|hold|take|book|make) (?!<VAGUE>)(?:the |a |our )?\w+ .*\b(?:rather than|instead of)\b",
    r"""^let's (?:go with|settle on|stick with|stick to|use|call (?:the|our)|name (?:the|our)|make (?:the|our)|move the
    |keep the)[ ](?!<VAGUE>).+(?:\bfor (?:the|our|my|all|every|now on)\b|\bto <DAY>|\bon <DAY>s?\b|\bas (?:the|our)\b
    |\binstead of\b)""",
    r"""^<OPENING>(?:we|I)(?:'re| are|'m| am) (?:now |all |both |definitely |officially |not )?(?:going with|going for
    |switching|moving (?:to|from|in|out|away|the|house|our)|sticking (?:with|to)|dropping|migrating|staying with|replacing
    |adopting|standardi[sz]ing|hiring|closing|launching|getting (?:married|divorced|rid|an? (?:dog|cat|puppy|new))|quitting
    |leaving (?!now|soon|for lunch|the office)|selling|buying|renaming|phasing out|cancell?ing|postponing
    |renewing|skipping) (?!<VAGUE>)""",
    r"""^<OPENING>we(?:'ll| will| won't| will not) (?:now |all |always |never |only |be )?(?!<TASK>\b|do\b|ask|need|get\b
    |deal|come|have to|figure|know|talk|start (?:with|by|over))(?!\w+ (?:it|that|this|them|later|soon
    |for now)\b)[a-z]+ (?=.*\b(?:for|on|in|at|from|to|with|instead|until|[A-Z]\w+|\d+)\b)\w+""",
    r"""^<OPENING>we(?:'re| are) (?:definitely |now |all |not )?going to (?!<TASK>\b|be\b|need|have|get\b|grab|do\b|lose
    |win|miss|die|want)\w+ \w+""",
    r"""^(?:the|our|final) (?:\w+ )?(?:plan|decision|agreement|verdict|choice|winner|consensus|conclusion|policy|rule
    |convention|deal) (?:is|has been)[ ](?!to (?:<TASK>|\w+ (?:it|this|that))\b|off\b|on\b|strict|not clear|unclear|fine|ok
    |good|too|very|so\b|great|bad|wrong|broken|simple|easy|hard|nice|clear)\w""",
    r"^(?:abbiamo|ho) deciso\b",
)

DECIDING = compile_one(
    r"""^(?:(?:final |our |my )?decision|(?:it's |that's )?(?:decided|settled|agreed|official|final))\s*[:,–—-]\s*
    (?:that )?(?=\w)"""
)

# ---- Corrections.

CORRECTING = compile_one(
    r"""^(?:(?:(?:no|nope|non|nein)(?=\s*[,:;.!–—-])|sorry|wait|correction|actually|update|oops|my mistake|my bad|i meant
    |i misspoke|scratch that|to correct (?:myself|that|you)|(?:that|it)(?:'s| is) (?:wrong|outdated|not right
    |no longer true|not true|incorrect|old|out of date|not correct|obsolete)|not quite|you(?:'ve| have)? (?:got|had)[ ]
    (?:that|it|my \w+) wrong|(?:small|quick|minor) (?:correction|update)|(?:I|we)(?:'ve| have)? changed (?:my|our) minds?
    (?: (?:about|on) [\w' ]+?)?|doch nicht|korrektur|no,? perdón|corrección|rectification)
    \b[\s,:;.!–—-]+)+"""
)
CORRECTIONS = compile_all(
    r"""^(?!(?:it|that|this|there)\b|(?:I|we) (?:can't|cannot|don't (?:get|know|understand|see|need)|'m not (?:hungry|tired
    |sure|sick|mad|angry|interested)|am not|no longer (?:need|hungry))|I'm not (?:hungry|tired|sure|sick|mad|angry
    |interested))(?=.*(?:\b(?:I|I'm|I've|we|my|our|us)\b|longer (?:run|work|live|lead|handle|manage)s?\b|is(?:n't| not
    | no longer) (?:called|named|in charge))).{1,80}\b(?:no longer\b|any ?more\b)|^it's not \w+ any ?more\b""",
    r"""^(?!.*\b(?:branch|file|folder|tab|class|module|line|code|button|order|setting)\b)(?:I|we|my|our
    |[A-Z]\w+)\b.{0,60}\b(?:switched|moved|changed|migrated|upgraded|renamed|converted|relocated|transferred) (?!on\b)
    (?:(?!it\b|them\b|that\b)[\w']+ ){0,3}?(?:from .+ to|over to|to) (?!<VAGUE>)\w""",
    r"^(?:I|we)(?:'ve| have) (?:just |recently |finally )?moved (?:to|in|out|house|away)\b",
    r"\b(?:is|are|it's|was) (?:actually )?(?:spelled|spelt|pronounced)\b",
    r"""^(?:the (?:\w+ )?(?:<EVENT>|<THINGS>)|my|our|(?!The\b)[A-Z][\w']+) .{0,80}\b(?:is|are|was|were|will be|starts?
    |ends?|costs?|runs?|lives?|works?|takes|leaves)\b.{1,60}, (?:and )?not[ ](?:the |a |an |on |at |in |to )?[\w.,:'€$%]+
    (?: \w+)?[.!]?$""",
    r"^the .{1,40}\bnow (?:is|runs|lives|works|uses|costs|starts|ends|has|goes|takes|lasts|belongs|reports)\b",
    r"""^(?:my|our|(?!The\b)[A-Z][\w']+) .{0,60}\b(?:is now|now (?:is|runs|lives|works|uses|costs|starts|ends|has|goes
    |takes|lasts|belongs|reports)|(?:is|are|runs|lives|works|costs|starts|uses|goes) now\b|(?:is|are|lives|works|runs|uses
    |starts|costs|has) .+ (?:now|these days|instead)(?:[,.!]|$)|has (?:changed|moved|switched|been replaced|a new))""",
    r"""^(?:the|our|my) (?!error|warning|file|message|problem|issue|bug|button)(?:\w+ ){1,3}?(?:is|are) (?:gone|no more|history
    |closed (?:for good|down))\b|^(?:I|we)(?:'ve| have)? (?:cut (?:down|back)|gone (?:down|up|part-time|full-time)|reduced
    |increased)\b(?=.*\d|.*\b(?:days?|hours|a week)\b)""",
    r"""^(?:I|we)(?:'m|'re| am| are| have)? (?:now |only )?(?:live|work|use|drive|eat|drink|read|study|living|working|using
    |on|at|with) (?!<VAGUE>).+ (?:now|these days|instead)(?:[,.!]|$)""",
)

# What somebody has given up, sold or ended; what is over otherwise is among the corrections.
WITHDRAWN = compile_one(
    r"""^<OPENING>(?:I|we|my \w+|our \w+)(?:'ve| have| has|'m|'re| am| are| is)? <ADVERBS>(?:(?:(?:gave|given|giving) up|sold
    |got rid of|dropped out of|done with|finished with|split up with|broke up with|retired from|(?:cancell?ed|ended
    |terminated|quit|closed) (?:my|our|the \w+ (?:contract|subscription|account|membership)|the (?:contract|lease|subscription
    |membership)|all))[ ](?!<VAGUE>|trying\b|waiting\b|looking\b|on (?:it|that|this)\b|the (?:\w+ )?part\b)\w
    |quit (?!the\b)\w+ (?:.*\bago|since|in|for good)\b|(?:stopped|quit)[ ]
    (?!using\b|trying\b|running\b|looking\b|waiting\b)\w+ing\b|gave (?:my|our) [\w ]{1,30} away\b)"""
)
# What somebody will do on a day that is named.
PLAN = compile_one(
    r"""^<OPENING>(?:I|we|my (?:\w+ )?<PEOPLE>|[A-Z]\w+ and I)(?:'m|'re|'ll|'s| am| are| is| will| will be)? <ADVERBS>(?:\w+ing
    |starts?|begins?|leaves?|arrives?|fly|flies|turns?|visits?|moves?|returns?|join|meet|travel|go)\b.*<DATE>
    |^(?:I|we|my (?:\w+ )?<PEOPLE>)(?:'m|'re|'s| am| are| is|'ll be| will be) (?:back|away|off|out of|abroad|on (?:holiday|leave
    |vacation)|unavailable)\b.*<DATE>|^(?:I|we) have (?:the|our|my|an?) (?:\w+ ){1,3}(?:in|over|on|here|staying) (?:until|from
    |for)\b.*<DATE>"""
)

# ---- Who people are, and what their life is like.

IDENTITIES = compile_all(
    r"^(?:my (?:\w+ )?name(?:'s| is)|I(?:'m| am) called|I go by|everyone calls me|my pronouns are|my initials are) \w",
    r"""^<OPENING><I> <ADVERBS>(?:was |were |been )?(?:(?:live|living|lived) (?:in|at|near|with|on|alone|by|close|next
    |between|abroad|together|here\b)|grew up|born (?:in|on|at|near)|based|from (?!the\b)|work (?:as|at|for (?!this)|in|from
    |on the|part|full|nights?|evenings|weekends|shifts|remotely|mostly|<DAY>s)
    |working (?:as|at|for|in|from|part|full|remotely)|study(?:ing)? (?!this
    |it|the code)|studied|teach|speak (?:[A-Z]\w+|fluent|some|a little|no|only|two|three|four)|majored|retired|commute
    |drive an?|play (?:the|in)|volunteer|married to|engaged|divorced|widowed|pregnant|expecting an?|training for
    |learning (?!a lot|from|so|about)|self-employed|freelance|semi-retired|wear|own[ ](?:an?|two|the)|get paid|run (?:an?
    |my|our|the) (?:\w+ )?(?:company|business|bakery|shop|store|studio|farm|team|clinic|practice|school|restaurant|cafe
    |blog|podcast|agency|startup|club|workshop)|have (?:an?|one|two|three|four|five|six|\d+) (?:\w+ ){0,2}(?:kids?|children
    |sons?|daughters?|dogs?|cats?|brothers?|sisters?|siblings|horses?|rabbits?|chickens|nieces?|nephews?|grandchildren
    |allergy|allergies|condition|twins?|employees|cars?|year-old|toddler|baby)(?=[,.!:]|$| (?:and|who|named|called|in|at
    |with|aged|from|together|but)\b)|have (?:an? )?(?:\w+ ){0,2}(?:allergy|allergies|condition|degree|phd|master's)|have[ ]
    (?:type|no (?:car|kids|children|siblings|licen[cs]e)|diabetes|asthma|adhd|arthritis|epilepsy|migraines|celiac)|on[ ]
    (?:the board|the committee|parental|maternity|sick leave)|\d{1,2}(?: years old)?(?=,| and\b|\.|$))\b""",
    r"""^(?:I|we)(?:'m|'re| am| are|'ve been| have been| was| used to be) (?:an? |the )(?!bit\b|little\b|few\b|\w+ (?:user
    |beginner)\b|beginner|fan|believer)(?:\w+ ){0,3}\w*(?:er|or|ist|ian|nurse|student|vet|chef|pilot|mom|mum|dad|parent
    |founder|lead|cto|ceo|widow|immigrant|native|citizen|veteran|architect|analyst|consultant|accountant|assistant)\b""",
    r"""^(?:my|our) (?:\w+ ){0,2}?<PEOPLE>(?:'s name)?,? (?:(?:[A-Z]\w+,?|and \w+|is also|also|both|just|still|really
    |always|usually) )*(?:(?:is|are|was|were|'s|'re) (?:an? |the |my |our |called|named|allergic|vegan|vegetarian|diabetic
    |pregnant|married|divorced|from|based|at |in (?:charge|hospital|(?:\w+ )?(?:grade|class|school|college)
    |[A-Z]\w*)|retired|turning|getting|moving|starting
    |visiting|coming|with |on (?:parental|maternity|paternity|sick|holiday|vacation)|afraid|deaf|blind|gluten|lactose|left-
    |responsible|[A-Z]\w*|\d+)|(?:has|have|had) (?!an? (?:question|problem|issue|point|idea|doubt)|to\b|the same)|lives?
    |works?|hates?|loves? (?!this|that|it)|likes?|prefers?|turns?|turned|starts?|teaches|plays?|speaks?|moved|studies|study
    |goes|go|can't|cannot|doesn't|don't|never|always|only|owns?|drives?|eats?|called|named|comes?|became|born|died|passed
    |runs?|manages?|got (?!a |an |the |it )|will|takes|uses|wears|said|says|told|recommends?|recommended|advised|prescribed|swears
    |collects|reads|suffers|finishes|graduates|graduated|retires|retired)\b(?! (?:just|in a meeting|late|so|too|hi|hello
    |thanks|going to)\b)(?! \w+ing\b(?! (?:a|the|for|at|in|to|\d+|married|divorced|<DATE>)\b))""",
    r"""^(?:the (?:kids|children|dog|cat|puppy|kitten|baby|twins|landlord|landlady|neighbou?rs?)|grandma|grandpa|granny|mom
    |mum|dad|mama|papa)\b(?:, [\w.]+(?: \w+)?,)? (?:is[ ](?!\w+ing\b)|are (?!\w+ing\b)|has|have|can't|cannot|lives?|passed
    |died|hates?|loves?|likes?|turns?|starts?|only|never|always|don't|doesn't|goes|go|eats?)\b(?! just\b)""",
    r"^(?:the|our|my) (?:\w+ ){1,4}?(?:is|are) (?:called|named) \w|^(?:I|we) call (?:the|our|my) \w+ \w",
    r"^(?:I|we) (?:don't|do not) have (?:an?|any) <HOME>",
    r"^(?:I|we)(?:'m|'re| am| are) an? (?:team|family|company|couple|group) of \w",
    r"""^I have (?:an? )?(?:bad|weak|high|low|sensitive) (?:\w+ )?<BODY>
    |^my (?:\w+ )?<BODY> (?:can't|cannot|don't|doesn't|won't) \w""",
    r"""^(?:my|our|the) (?:boss|manager|clients?|customers?|landlord|landlady|teacher|school|bank|team) (?:(?:wants?|expects?
    |needs?|accepts?|insists on|allows?|requires?)[ ](?!(?:me|to|the|this|that|it|an?|us|you)\b)|(?:only|always|never) )\w""",
    r"""^(?:my|the) (?:doctor|dentist|physio|vet|therapist|gp|cardiologist|surgeon|midwife|optician|\w+ologist) (?:has )?
    (?:said|says|told|recommends?|recommended|advised|prescribed|wants)\b""",
    r"^(?:\w+ ){1,6}?(?:should|must|has to|have to|needs? to) (?:always|never|only)\b",
    r"""^(?:the|our|my) (?:\w+ ){0,3}?(?:lead|head|owner|contact|manager|chair|treasurer|director|captain|president
    |secretary|maintainer)(?: (?:of|for|at) [\w ]{2,30})? is[ ](?!\w+ing\b)[A-Z]\w+""",
    r"""^(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?[A-Z][\w'-]+(?: (?:from |in |at )?[\w'-]+){0,2}?,? (?:is|was|are|becomes|became
    |will be) (?:now |also |one of )?(?:my|our|the new|the (?:head|lead|owner|contact|one who)|in charge|responsible
    |on[ ](?:parental|maternity|paternity|sick) leave|on (?:vacation|holiday|sabbatical)|allergic|married|pregnant|from
    |based)\b""",
    r"^(?:mi chiamo|vivo a|lavoro)\b",
    r"^(?:私|僕|俺)(?:の名前は|は.+(?:に住んで|で働いて)|の.+は)|^我(?:叫|住在|在.+工作)",
)
# Belongings; with a name or a number.
BELONGINGS = compile_one(r"""^(?:my|our) (?:\w+ ){0,2}?<THINGS>(?: for [\w ]{2,30}| of [\w ]{2,30})? (?:is|are|was|has been
    |will be|ends?|starts?|begins?|falls) (?!\w+ing\b|not\b|frozen|slow|broken|too\b|so\b|very|down\b|fine|ok\b|good|bad
    |full|empty|great|dead|in the shop)\w""")
EVENTS = compile_one(
    r"""\b<EVENT>\b.*?(?:\b(?:is|are|will be|starts?|begins?|ends?|runs|takes place|leaves?|departs?|arrives?|expires?
    |opens?|closes?|renews?|falls|happens?|lands|comes|goes up|goes down|rises)\b|'s\b|:|'ll be\b).*?<DATE>"""
)
OWN_NAMED = compile_one(
    r"""^(?:my|our) (?!test|code|program|build|function|script|file|question|point|problem|issue|answer|text)(?:[\w-]+ ){1,3}?
    (?:(?:is|are|'s) (?:called |an? |the )?(?:[A-Z]|\d)|(?:lives?|runs?|sits?|stays?|is (?:hosted|stored|kept)|are kept)[ ]
    (?:on|in|at|under|behind|with) \w)|\b(?:my|our)\b.{1,60}\b(?:expires?|runs? out|is due|renews?)\b.*<DATE>"""
)
# What somebody does again and again.
RECURRING = compile_one(
    r"""^(?:at|in|with) (?:my|our) (?:\w+ ){1,4}?(?:is|are|\w+s) always\b|"""
    r"""^<OPENING>(?:I|we|my|our|the|both|he|she|they|[A-Z]\w+)\b.*\b(?:(?:every|each) (?:other |second |third |single )?
    (?:day|week|month|year|morning|evening|night|weekend|weekday|quarter|summer|winter|spring|autumn|<DAY>)
    |on <DAY>(?:s|[ ](?:mornings|afternoons|evenings|nights))|
    (?:once|twice|\w+ (?:times|days|hours|shifts)) a (?:day|week|month|year)|on weekends|<DAY>s at)\b
    |^(?:I|we|the kids) (?:usually )?(?:eat|get up|wake up|open|close|start|finish|have (?:lunch|dinner|breakfast)|go to bed)[ ]
    (?:at|around|by|before|after) (?:\d|noon|midnight|four|five|six|seven|eight|nine|ten|half)"""
)
# What a group uses, and how it works; with a name or a number.
PRACTICES = compile_one(
    r"""^<OPENING>we (?:also |only |mostly |currently |still |always |now )?(?:use|bank|host|deploy|ship|run|track|store|write
    |build|bill|invoice|pay|rent|own|lease|meet|keep|work|sell|serve|support|charge|have) (?!(?:it|that|this|them|to|a[ ]
    (?:problem|question|bug|meeting in))\b)\w"""
)
# Changes in a life.
LIFE = compile_one(
    r"""^(?:I|we|my \w+|[A-Z]\w+)(?:'ve| have| has)? (?:just |recently |finally |officially )*(?:changed jobs|got[ ]
    (?:the job(?! done)|married|engaged|divorced|promoted|laid off|fired|pregnant|accepted|a new (?:job|car|phone|dog|cat
    |boss|manager|flat|apartment|laptop))|quit (?:smoking|drinking|my
    |the (?!program|app|game|editor|process|terminal|shell))|passed away|died|became|retired|graduated
    |gave birth|had a baby|started (?:at|as|a new job|my|working)|joined (?:the|a|[A-Z])|left (?:the company|my job
    |[A-Z]))\b"""
)

# ---- Plain statements, which wait until they are said again.

STATEMENT = compile_one(
    r"""^(?:(?:I|we|he|she|they|my|our|his|her|their|the|there (?:is|are|was|will)|there's|it's|an?|both|all|most|every
    |each|nobody|everyone|no one|one of (?:my|our)|on <DAY>s?|in \w+|since \w+|at \w+|after|before|during|until|by
    |from)\b(?:'\w+)?|[A-Z][\w'.-]+ (?:(?:from |in |at |and )?[\w'.-]+ ){0,2}?(?:is|are|was|has|have|will|works?|lives?
    |runs?|owns?|likes?|loves?|hates?|prefers?|said|says|wants?|needs?|starts?|joined|joins|left|leaves|handles?|manages?
    |leads|takes|moved|got|can|can't|does|doesn't|went|goes|comes|speaks|studies|plays|teaches|knows|reports|and)\b)"""
)
NAME = re.compile(
    r"(?<=[a-z,:] )(?!I\b|I'|(?:OK|TODO|API|URL|JSON|CSV|HTML|CSS|SQL|PDF|IDE)\b)[A-ZÄÖÜÉ][\w'-]*\w"
    r"""|^(?!(?:I|We|My|Our|The|There|He|She|They|It|An?)\b)[A-Z][a-z]+(?= (?:is|was|has|handles|manages|leads|took|left
    |runs|lives|works|hates|likes|starts|joined|owns|[A-Z]))"""
)
NUMBER = compile_one(
    r"""(?<![\w-])[€$£]?\d[\d.,:]*|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|forty|fifty
    |hundred|half|twice|once)\b|<DATE>"""
)
RELATIVE = compile_one(
    r"""\b(?:my|our) (?:\w+ ){0,2}?<PEOPLE>\b|\bthe (?:kids|children|landlord|landlady|doctor|vet|dentist|twins|baby|boss
    |client)\b"""
)
# Words that make a statement one about the user's own world.
OWN = compile_one(r"\b(?:I|my|mine|me|we|our|ours|us|myself|ourselves)\b|^the <THINGS>\b|私|僕|我")
ROLE = compile_one(
    r"""^(?:[A-Z][\w'-]+ ){1,2}(?:runs|leads|handles|manages|owns|heads|is in charge|is responsible|looks after|takes care
    |takes over|joined|joins|reports to|left the|took over)\b"""
)
LIKING = compile_one(
    r"""^<OPENING><I> <ADVERBS>(?:like|love|enjoy|hate|adore|find|use|wear|own|play|collect|keep|store|park) (?!(?:on|up)\b
    |(?:it|that|this|how|when|the)\b)\w+ \w+(?!.*\bsometimes\b)"""
)
CONTRAST = compile_one(r", not \w+|\b(?:instead of|rather than)\b")

# ---- Subjects that people leave out.

IS = compile_one(r"""(?<=[a-z])'s(?= (?:\w+ing|called|named|on|in|at|allergic|an?|the|now|not|been|got|due|my|our|from
    |always|never|called|\d+)\b)(?<!\bit's)(?<!\bthat's)(?<!\bthere's)(?<!\blet's)(?<!\bhe's)(?<!\bshe's)""")
HAVE_GOT = compile_one(r"\b(I|we)(?:'ve| have) got(?= (?:an?|the|my|our|no|one|two|three|four|\d+)\b)")
WITHOUT_I = compile_one(
    r"""^(?:just |recently |finally |still )?(?:got|moved|started|bought|sold|quit|joined|booked|signed|turned (?:\d|down)
    |left (?:the|my)|work(?:ed)? (?:as|at|for|in)|live[ds]? in|grew up|prefer|hate|love)\b"""
)
WITHOUT_I_AM = compile_one(
    r"""^(?:just |recently |finally |still |also )?(?:moving|going with|sticking (?:with|to)|switching to|staying with
    |starting|leaving|allergic|vegetarian|vegan|lactose
    |\w+ intolerant|married|engaged|born|based|living|working (?:as|at|for|in)|learning|training for|expecting a|pregnant
    |diabetic|left-handed)\b"""
)
WITHOUT_OUR = compile_one(r"""^(?:<PEOPLE>|<THINGS>|<EVENT>)(?: of the \w+)? (?:is|are|was|moves?|starts?|ends?|got|has
    |have|will|turns?|leaves?|lives?|works?|hates?|loves?)\b""")

# ---- Sentences that state no lasting fact: questions, doubts, what only this chat shows, the moment's work.

QUESTION = compile_one(
    r"""\?["')\]]*$|？|^(?:what|who|whom|whose|when(?! (?:you|I|we)\b)|where|which|why|how|is|are|am|was|were|do|does|did
    |has|have|had|can|could|would|should|will|shall|may|isn't|aren't|don't you|doesn't|won't|wouldn't|any (?:idea|chance
    |thoughts|tips|advice)|wer|was|wann|wo|wie|warum|welche\w*|kannst|könntest|hast|weißt|qué|quién|cuándo|dónde|cómo|cuál
    |puedes|podrías|qui|quand|où|comment|pourquoi|peux-tu|pouvez)\b|\b(?:remind me|tell me|do you (?:know|remember)
    |any idea)\b"""
)
DOUBT = compile_one(
    r"""\b(?:maybe|perhaps|i think|i guess|i suppose|i believe|might|may be|could|probably|possibly|not sure|unsure
    |wonder(?:ing)?|wish|hopefully|i hope|not certain|would be|would have|i'd love|i would love|what if|if (?:i|we) (?:were
    |had)|should (?:probably|i|we)|(?<!said )(?<!says )(?<!me )(?<!that )(?:i|we) should|seems?|apparently|supposedly
    |allegedly|no idea|i doubt|thinking (?:of|about)|considering|consider|tempted|toying|debating|undecided|can't decide
    |(?:not|nothing|no decision) yet|(?:nothing|nobody|no decision)\b.{0,40}(?:decided|agreed|settled|chosen|fixed|final)
    |leaning|almost|nearly|sort of|kind of|kinda|kidding|joking|jk|lol|haha\w*|rofl|lmao|sarcas\w+|vielleicht
    |wahrscheinlich|glaube|quizás?|tal vez|creo que|peut-être|je pense|je crois|forse|penso che)\b|[;:]-?[)pPD](?:\s|$)"""
)
# Words that point at something which only this conversation shows.
DEIXIS = compile_one(
    r"""\b(?:(?:this|these)(?! (?:week|month|year|spring|summer|autumn|fall|winter|morning|evening|afternoon|weekend|season
    |quarter|coming|days|<DAY>|<MONTH>|time of|company|team|house|family|country|city|department|household
    |project|repo|repository|codebase)\b)|those
    |that(?= (?:one|file|line|part|word|sentence|bit|version|name|function|test|thing|stuff|option|paragraph|section|idea
    |way|time)\b)|(?:the|your) (?:first|second|third|fourth|last|latest|previous|other|same|next|former|latter
    |following)(?! (?:week|month|year|day|weekend|of \w+|floor|name|time|quarter|half|semester|<DAY>|team|kids?|child
    |daughter|son|baby|trimester|grade|language)\b)|(?:options?|version|step|variant|choice|example|question|point|approach
    |suggestion) (?:\d+(?!\.\d)|[a-d]|one|two|three)|(?:above|below)(?! \d)|here|line \d+|such a|as before|the (?:idea|tone|ending
    |part|intro|wording|paragraph|sentence|section|draft|layout|answer|results?|look|example|summary|phrasing|heading
    |shorter|longer|original|output|button|header|footer|background|font|diagram|chart|picture|image)|your (?:answer
    |suggestion|version|idea|plan|code|draft|reply|response|list|output|example|last|point|explanation|solution|story|poem
    |question|advice|help|approach|style|work|table)|(?:with|from|about|than) you|the one (?:we|you|i)|our (?:chats?
    |conversations?)|chapter|page \d+)\b|\b(?:like|love|hate|prefer|use|take|keep|try|do|need|want|see|get|enjoy|pick|chose
    |choose|picked|fix|change|mean|like|on|about|with|understand|send|add|put|make|tried|did|got|fixed|hated|loved
    |liked) (?:it|that|them)(?! (?:when|we|i|he|she|they|the|our|my|no|if)\b)\b|\blike that\W*$"""
)
# The work of the moment: it fails, it runs, it is being looked at.
WORK = compile_one(
    r"""\b(?:fails?|failed|failing|errors?|exceptions?|crash\w*|broken|doesn't (?:work|compile|run|build|start|load|render)
    |does not work|hangs?|hanging|frozen|freez\w+|timeouts?|time[sd] out|stuck|bugs?|traceback|stack ?trace|warnings?
    |compil\w+|undefined|null|nan|segfault|(?:works|runs) (?:now|fine|great|again)|throws?|complains|prints|snippet|loops?
    |regex\w*
    |variables?|functions?|methods?|columns?|rows|arrays?|strings?|integers?|booleans?|semicolons?|docstrings?|indexed
    |parsers?|parse|scripts?|quer(?:y|ies)|datasets?|dataframes?|endpoints?|parameters?|arguments?|the (?:input|output|list
    |file)|console|terminal|unit tests?|tests? (?:pass|passed|passes)|(?:write|writing|run|running) (?:the )?tests|debug\w*
    |(?:is|are) at \d+ ?%|the download|downloading|positive)\b"""
)
# What is over in an hour; a date in the sentence says that it is not.
PASSING = compile_one(
    r"""\b(?:right now|at the moment|just now|a sec(?:ond)?|brb|gotta|about to|running late|in (?:\d+|a few|five|ten
    |two) (?:min\w*|sec\w*|hours?|an hour)|going to (?:grab|get(?! married)|take a|eat|sleep|bed|try|look|check|kill
    |the[ ](?:gym|store|shop|bathroom))|let me|hold on|one moment|i'm (?:back|here|ready|done|tired|so|a bit|a little
    |confused|lost|sorry|glad|happy|sure|afraid|curious|trying|looking|getting(?! (?:married|divorced|a))|seeing|having
    |asking|new here|fine|good|ok|okay|not following|at the|using|reading|writing|watching|making|doing|on (?:the (?!board
    |committee|team)|page|my (?:train|bus|phone|way)))|i'll (?:try|send|check|look|ask|do|see|let|be (?:back|there)|come
    |go\b(?! (?:by|with))|fix|test|report|ping|call|add|get|take (?:it|a|that)|tell|show|write|give|think|update|start
    |finish|continue|read|leave)|i (?:see|need(?! (?:everything|all|every)\b)|have to
    |want (?:a|an|to (?:see|know|try|add|make|use|do|get)|some|the|\d+)
    |read|heard|saw|watched|tried|ran|slept|woke|was up|just (?!moved|started|turned|became|got|bought|signed|quit|joined
    |found out|had a baby)\w+|must(?! not)|couldn't|(?:can't|cannot) (?!do\b|stand|bear|eat|drink|have|tolerate|digest|work
    |live|function|fly|lift|take|make|drive|swim)|got (?!the job|married|engaged|divorced|promoted|laid|fired|a new
    |accepted|a (?:dog|cat|puppy|job))|get (?!paid|up|off|home|\w*sick|migraine|headaches|hives|dizzy|heartburn)|always get (?!up)
    |don't (?:know|understand|get|see
    |think|remember|mind|want to|have(?! (?:an?|any) <HOME>)|care)
    |understand|meant|asked|forgot|found|noticed|know|knew|opened|tested|installed
    |updated|pushed|committed|have \d+ min\w*|have (?:a|an|some|another|one|two) (?:\w+ )?(?:questions?|problem|issue|idea
    |doubt|request|task|file|list|table|headache|feeling)|was[ ](?:just |only )?(?:wondering|looking|trying|reading
    |thinking|hoping))|we (?:need|have) to|we(?:'ll| will) (?:see|talk|manage)|we're (?:almost|nearly|at step)|we won
    |you (?:always|are|were|said|forgot|missed|did|have|can|could|should|didn't|don't|never)|you're|you've|says? (?:hi
    |hello|thanks)|is (?:calling|ringing|barking|crying|waiting|asking|coming over|sleeping|loading|running|going to)|
    (?:are|were) screaming|(?:is|was|'s) (?:raining|snowing|slow|boring|terrible|great|nice) today|what now)\b"""
)
# From a date to the end of the sentence, in which no hour follows.
DATE = compile_one(r"(?=<DATE>)(?!.*\b(?:noon|midnight|at \d{1,2})\b).+")
JOKE = compile_one(r"\b(?:lol|haha\w*|rofl|lmao|jk|kidding|joking)\b")
