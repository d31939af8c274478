"""The tokenizer of the model. It must give exactly what the embedder in `lore-embed` gives.

Text is cut into runs of ASCII digits, lower-case words, capitalised words and upper-case runs, where the last upper-case
letter before a lower-case one begins the next word. Each word is lower-cased and split greedily into WordPieces.
Everything else separates. A word with a part that is not in the vocabulary becomes one [UNK].
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import sparse

UNKNOWN = 0
MAX_TOKENS = 600
LONGEST_PIECE = 62
WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def pruned_vocabulary(vocabulary: Sequence[str]) -> tuple[list[str], list[int]]:
    """Keeps [UNK] as row 0 and the pieces that lower-case ASCII words can produce; gives also their old rows."""
    kept = [(piece, row) for row, piece in enumerate(vocabulary) if re.fullmatch(r"(##)?([a-z]+|[0-9]+)", piece)]
    return ["[UNK]"] + [piece for piece, _ in kept], [vocabulary.index("[UNK]")] + [row for _, row in kept]


class Tokenizer:
    """Splits text into rows of a vocabulary. Words are remembered, because source text repeats them."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._rows = {piece: row for row, piece in enumerate(vocabulary)}
        self._words: dict[str, tuple[int, ...]] = {}

    def ids(self, text: str) -> list[int]:
        """The token rows of a text, in order, cut at the limit."""
        out: list[int] = []
        for word in WORD.findall(text):
            known = self._words.get(word)
            if known is None:
                known = self._words[word] = self._pieces(word.lower())
            out.extend(known)
            if len(out) >= MAX_TOKENS:
                break
        return out[:MAX_TOKENS]

    def _pieces(self, word: str) -> tuple[int, ...]:
        pieces: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(min(len(word), start + LONGEST_PIECE), start, -1):
                row = self._rows.get(prefix + word[start:end])
                if row is not None:
                    break
            else:
                return (UNKNOWN,)
            pieces.append(row)
            start = end
        return tuple(pieces)

    def bags(self, texts: Iterable[str]) -> sparse.csr_matrix:
        """One sparse row for each text: the damped count 1 + ln(tf) of every token in it."""
        indices: list[int] = []
        values: list[float] = []
        ends = [0]
        for text in texts:
            for row, count in sorted(Counter(self.ids(text)).items()):
                indices.append(row)
                values.append(1 + math.log(count))
            ends.append(len(indices))
        shape = (len(ends) - 1, len(self._rows))
        data = np.array(values, np.float32), np.array(indices, np.int32), np.array(ends, np.int32)
        return sparse.csr_matrix(data, shape=shape)
