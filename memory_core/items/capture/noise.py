"""The phrases of sentences that state no lasting fact: questions, doubts, what only this chat shows, the moment's work."""

from __future__ import annotations

from memory_core.items.capture.phrases import compile_one

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
    |quarter|coming|days|<DAY>|<MONTH>|time of|company|team|house|family|country|city|department|household)\b)|those
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
    |compil\w+|undefined|null|nan|segfault|works (?:now|fine|great)|throws?|complains|prints|snippet|loops?|regex\w*
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
    |finish|continue|read|leave)|i (?:see|need|have to|want (?:a|an|to (?:see|know|try|add|make|use|do|get)|some|the|\d+)
    |read|heard|saw|watched|tried|ran|slept|woke|was up|just (?!moved|started|turned|became|got|bought|signed|quit|joined
    |found out|had a baby)\w+|must(?! not)|couldn't|(?:can't|cannot) (?!do\b|stand|bear|eat|drink|have|tolerate|digest|work
    |live|function|fly|lift|take|make|drive|swim)|got (?!the job|married|engaged|divorced|promoted|laid|fired|a new
    |accepted|a (?:dog|cat|puppy|job))|get (?!paid|up|off|home|\w*sick)|always get (?!up)|don't (?:know|understand|get|see
    |think|remember|mind|want to|have|care)|understand|meant|asked|forgot|found|noticed|know|knew|opened|tested|installed
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
