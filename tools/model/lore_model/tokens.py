"""The tokenizer of the model. It must give exactly what the embedder in `lore-embed` gives.

Text is cut into runs of ASCII digits, lower-case words, capitalised words and upper-case runs, where the last upper-case
letter before a lower-case one begins the next word. Everything else separates. Each lower-cased word is a token, or is
split greedily into pieces. A word with a part that is not in the vocabulary becomes one [UNK].
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy import sparse

UNKNOWN = 0
MAX_TOKENS = 600
LONGEST_PIECE = 62
LONGEST_WORD = 40  # Of those that get a row of their own.
WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def pruned_pieces(vocabulary: Sequence[str]) -> dict[str, int]:
    """The pieces of a WordPiece vocabulary that lower-case ASCII words can produce, with their rows."""
    return {piece: row for row, piece in enumerate(vocabulary) if re.fullmatch(r"(##)?([a-z]+|[0-9]+)", piece)}


def cut(rows: Mapping[str, int], word: str) -> tuple[int, ...]:
    """The rows of a word: the longest first match each."""
    pieces: list[int] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        for end in range(min(len(word), start + LONGEST_PIECE), start, -1):
            row = rows.get(prefix + word[start:end])
            if row is not None:
                break
        else:
            return (UNKNOWN,)
        pieces.append(row)
        start = end
    return tuple(pieces)


def corpus_vocabulary(spread: Mapping[str, int], pieces: Iterable[str], size: int, kept_pieces: int) -> list[str]:
    """Makes a vocabulary of whole words, and of pieces for the words that are left.

    `spread` says in how many packages a word occurs; the most widespread become rows. The pieces are those that cut the
    other words most often. Every single character is a piece, so that each ASCII word can be cut.
    """
    base = ["[UNK]", *CHARACTERS, *(f"##{character}" for character in CHARACTERS)]
    ranked = sorted(spread, key=lambda word: (-spread[word], word))
    usable = [word for word in ranked if 1 < len(word) <= LONGEST_WORD and not (word.isdigit() and len(word) > 4)]
    words = usable[: size - len(base) - kept_pieces]
    known = set(base) | set(words)
    everything = [*known, *(piece for piece in pieces if piece not in known)]
    rows = {piece: row for row, piece in enumerate(everything)}
    use: Counter = Counter()
    for word in ranked:
        if word not in known:
            for row in cut(rows, word):
                if everything[row] not in known:
                    use[everything[row]] += spread[word]
    chosen = sorted(use, key=lambda piece: (-use[piece], piece))[:kept_pieces]
    return base + sorted(words) + sorted(chosen)


class Tokenizer:
    """Splits text into rows of a vocabulary. Words are remembered, because source text repeats them."""

    def __init__(self, vocabulary: Sequence[str], lead: float) -> None:
        self._rows = {piece: row for row, piece in enumerate(vocabulary)}
        self._words: dict[str, tuple[int, ...]] = {}
        self._lead = lead

    def ids(self, text: str) -> tuple[list[int], int]:
        """The token rows of a text, in order, cut at the limit, and how many of them are in its first line."""
        head, _, tail = text.partition("\n")
        out: list[int] = []
        self._append(head, out)
        first = len(out)
        if first < MAX_TOKENS:
            self._append(tail, out)
        return out[:MAX_TOKENS], min(first, MAX_TOKENS)

    def _append(self, text: str, out: list[int]) -> None:
        for word in WORD.findall(text):
            known = self._words.get(word)
            if known is None:
                known = self._words[word] = cut(self._rows, word.lower())
            out.extend(known)
            if len(out) >= MAX_TOKENS:
                return

    def counted(self, text: str) -> list[tuple[int, float]]:
        """The different tokens of a text in the order of their rows, each with what its occurrences count.

        That is 1 + ln(count), times the factor for the first line where one of them is in it.
        """
        ids, first = self.ids(text)
        leading = set(ids[:first])
        return [
            (row, (1 + math.log(count)) * (self._lead if row in leading else 1.0))
            for row, count in sorted(Counter(ids).items())
        ]

    def bags(self, texts: Iterable[str]) -> sparse.csr_matrix:
        """One sparse row for each text."""
        bags = Bags(self)
        for text in texts:
            bags.add(text)
        return bags.finish()

    def __len__(self) -> int:
        return len(self._rows)


class Bags:
    """A sparse matrix in the making: one row for each text, without the texts in memory."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._indices, self._values, self._ends = array("i"), array("f"), array("q", [0])

    def add(self, text: str) -> None:
        for row, value in self._tokenizer.counted(text):
            self._indices.append(row)
            self._values.append(value)
        self._ends.append(len(self._indices))

    def finish(self) -> sparse.csr_matrix:
        values, indices = np.frombuffer(self._values, np.float32), np.frombuffer(self._indices, np.int32)
        shape = (len(self._ends) - 1, len(self._tokenizer))
        return sparse.csr_matrix((values, indices, np.frombuffer(self._ends, np.int64)), shape=shape)
