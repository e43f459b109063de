"""Token ids of many texts, word by word: most words of a text were met before, and their ids are kept.

That gives the ids which the tokenizer gives for the whole text, in a fifth of the time, where no token of its vocabulary goes on
behind the end of a word: merges inside one word then know nothing of its neighbours. Tokenizers in the manner of SentencePiece
write a space as the mark in front of the word that follows, and are made so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MARK = "\u2581"  # stands for a space
END = "\0"  # of a word, while a text is cut
MOST_WORDS = 30_000  # kept: some 8 MB
LONGEST_WORD = 40  # characters; longer ones hardly come twice
MEAN_WORD = 12  # characters: text of longer words, such as Chinese, is left to the tokenizer
_PROBE = 'Cut,  at\u2581words:\n- "E11000"\n\n\t漢字 naïve\u200d🙂 <pad> x '


@cache
def _word() -> re.Pattern[str]:
    return re.compile(f"{MARK}*[^{MARK}\n]+|{MARK}+|\n")


class WordTokens(dict[str, tuple[int, ...]]):
    """Ids of words by word, filled as they are asked for. Used from several threads.

    Args:
        tokenizer: Gives the ids; `cuts_at_words` must hold for it.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        self._tokenize = tokenizer.model.tokenize
        self._special = [token.content for token in tokenizer.get_added_tokens_decoder().values()]

    def __missing__(self, word: str) -> tuple[int, ...]:
        """Cut a word that was not met before."""
        ids = tuple(token.id for token in self._tokenize(word))
        if len(word) <= LONGEST_WORD:
            if len(self) >= MOST_WORDS:
                self.clear()
            self[word] = ids
        return ids

    def find_joined_ids(self, texts: Sequence[Sequence[str]]) -> tuple[list[list[int]], list[list[int]]]:
        """Return the ids of every unit's tokens, and those of every text: its units joined by line ends.

        A text has the tokens of its units, but that the first word of a unit stands behind a line end, not at the beginning.
        """
        own: list[list[int]] = []
        joined: list[list[int]] = []
        for units in texts:
            text = "\n".join(units)
            is_plain = not ("  " in text or MARK in text or END in text or any(map(text.__contains__, self._special)))
            parts = [*map(self._split, units)] if is_plain else []
            if parts and all(parts):
                whole: list[int] = []
                for words in parts:
                    rest = [*chain.from_iterable(map(self.__getitem__, words[2:]))]
                    own.append([*self[words[1]], *rest])
                    whole += (*self["\n"], *self[words[1][1:]], *rest) if whole else own[-1]
                joined.append(whole)
            else:
                own += self.find_ids(units)
                joined += self.find_ids([text])
        return own, joined

    def _split(self, unit: str) -> list[str]:
        """Return a unit by its words, the first of which is empty; nothing for a unit that is not cut at single spaces."""
        if unit[:1] in {" ", "\n", ""} or _has_long_words(unit):
            return []
        return f" {unit}".replace("\n", f"{END}\n{END}").replace(" ", f"{END}{MARK}").split(END)

    def find_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of every text's tokens."""
        found: list[list[int]] = []
        left: list[int] = []
        for number, text in enumerate(texts):
            if _has_long_words(text) or any(map(text.__contains__, self._special)):
                left.append(number)
                found.append([])
            else:
                found.append(self._cut(text))
        if left:
            encodings = self._tokenizer.encode_batch_fast([texts[number] for number in left], add_special_tokens=False)
            for number, encoding in zip(left, encodings, strict=True):
                found[number] = encoding.ids
        return found

    def _cut(self, text: str) -> list[int]:
        if not text:
            return []
        marked = f" {text}"
        if "  " in marked or MARK in text or END in text:
            words = _word().findall(marked.replace(" ", MARK))
        else:  # a third of the time
            words = marked.replace("\n", f"{END}\n{END}").replace(" ", f"{END}{MARK}").split(END)
        return list(chain.from_iterable(map(self.__getitem__, words)))


def _has_long_words(text: str) -> bool:
    """Return True for a text that is left to the tokenizer."""
    return text.count(" ") * MEAN_WORD < len(text) - MEAN_WORD


def cuts_at_words(tokenizer: Tokenizer) -> bool:
    """Return True if no token of a tokenizer goes on behind the end of a word, so that `WordTokens` gives its ids."""
    if any(MARK in piece.lstrip(MARK) or ("\n" in piece and piece != "\n") for piece in tokenizer.get_vocab()):
        return False
    return WordTokens(tokenizer)._cut(_PROBE) == tokenizer.encode(_PROBE, add_special_tokens=False).ids
