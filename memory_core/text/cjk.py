"""Characters of scripts written without spaces between words, or one syllable a character, as classes for regexes.

Indexes depend on them: `WORD_CHARACTERS` decides what the keyword index cuts into pairs, `CHARACTERS` how long a chunk is.
A change to either needs a rebuild of every index.
"""

from __future__ import annotations

# Characters of words: Han, kana, Hangul syllables, and the iteration and length marks that stand inside words.
WORD_CHARACTERS = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# The others, to which tokenizers give a token each as well: jamo, radicals, bopomofo, Yi, punctuation, full-width forms.
_OTHER_CHARACTERS = (
    "\u1100-\u11ff\u2e80-\u3004\u3008-\u303f\u3100-\u31ef\u3200-\u33ff\u4dc0-\u4dff\ua000-\ua4cf\ua960-\ua97f\ud7b0-\ud7ff"
    "\ufe30-\ufe4f\uff00-\uffef"
)
CHARACTERS = WORD_CHARACTERS + _OTHER_CHARACTERS
