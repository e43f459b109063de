"""Queries that no note answers: pseudo-words, word salad, gibberish in the letters of other languages; and small talk."""

from __future__ import annotations

import random
from collections.abc import Sequence

_ONSETS = [
    "b",
    "bl",
    "br",
    "c",
    "ch",
    "d",
    "dr",
    "f",
    "fl",
    "g",
    "gr",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "r",
    "s",
    "sk",
    "st",
    "t",
    "v",
    "z",
]
_NUCLEI = ["a", "e", "i", "o", "u", "ai", "ea", "oo", "ou", "y"]
_CODAS = ["", "b", "ck", "d", "ft", "g", "l", "m", "n", "nk", "p", "r", "rt", "sh", "t", "x", "zz"]
_ALPHABETS = (
    "абвгдежзиклмнопрстуфхцчшыэюя",
    "αβγδεζηθικλμνξοπρστυφχψω",
    "אבגדהוזחטיכלמנסעפצקרשת",
    "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "अआइईउऊएऐओकखगघचछजझटठडणतथदधनपफबभमयरलवशषसह",
    "กขคงจฉชซญฎฏฐณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ",
)

# fmt: off
EVERYDAY_WORDS = (
    "apple", "anchor", "autumn", "balloon", "basket", "bicycle", "blanket", "bottle", "bridge", "butter", "candle", "carpet",
    "castle", "cherry", "chimney", "circus", "cloud", "copper", "cotton", "cousin", "curtain", "dancing", "desert", "dragon",
    "eagle", "elbow", "engine", "feather", "fence", "forest", "fountain", "garden", "ghost", "giraffe", "glove", "guitar",
    "hammer", "harbour", "honey", "island", "jacket", "jungle", "kettle", "kitchen", "ladder", "lemon", "lion", "marble",
    "meadow", "mirror", "monkey", "mountain", "music", "needle", "ocean", "orange", "paint", "parrot", "pencil", "pepper",
    "pillow", "pirate", "planet", "pocket", "potato", "puzzle", "rabbit", "rain", "ribbon", "river", "rocket", "saddle",
    "sailor", "salad", "shadow", "silver", "singing", "spider", "spoon", "squirrel", "stone", "sugar", "summer", "table",
    "teacher", "thunder", "tiger", "tomato", "tower", "train", "trumpet", "tunnel", "turtle", "umbrella", "valley", "velvet",
    "violin", "walnut", "whisper", "window", "winter", "wizard", "yellow", "zebra",
)
SMALL_TALK = (
    "good morning", "thanks!", "hi there", "hello", "how are you?", "ok", "sounds good", "thank you so much", "you're welcome",
    "good night", "see you later", "bye", "no problem", "that's great", "awesome", "lol", "haha nice", "yes please", "no thanks",
    "sure", "got it", "cool", "well done", "good job", "what's up?", "nice to meet you", "have a nice day", "take care",
    "talk to you later", "sorry", "never mind", "I see", "makes sense", "perfect", "great, thanks", "hey", "good afternoon",
    "good evening", "are you there?", "one moment please", "welcome back", "happy to help", "how's it going?",
    "thanks a lot", "oh wow", "that's funny", "I agree", "go on", "cheers", "please continue",
)
# fmt: on


def pseudo_words(rng: random.Random) -> str:
    """Pronounceable words that no language has."""
    return " ".join(
        "".join(rng.choice(_ONSETS) + rng.choice(_NUCLEI) + rng.choice(_CODAS) for _ in range(rng.randint(2, 3)))
        for _ in range(rng.randint(3, 7))
    )


def word_salad(rng: random.Random, words: Sequence[str]) -> str:
    """Real words without any connection."""
    return " ".join(rng.choices(words, k=rng.randint(4, 8)))


def gibberish(rng: random.Random) -> str:
    """Random letters of one other alphabet, in the shape of words."""
    letters = rng.choice(_ALPHABETS)
    return " ".join("".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(rng.randint(3, 7)))


def nonsense(count: int, words: Sequence[str], *, seed: int = 1) -> list[str]:
    """So many queries, a third of each kind; the same for the same seed."""
    rng = random.Random(seed)
    kinds = (pseudo_words, lambda rng: word_salad(rng, words), gibberish)
    return [kinds[number % 3](rng) for number in range(count)]
