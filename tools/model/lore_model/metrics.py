"""Retrieval figures, and BM25 with identifier splitting to compare with."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STOP = frozenset(
    """a an the of to in on for and or is are be by with from that this it as at if not no into its than then when which
    will can""".split()
)
PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def stem(word: str) -> str:
    """A light English stemmer, enough for code search."""
    if len(word) > 4:
        if word.endswith("ies"):
            word = word[:-3] + "y"
        elif word.endswith(("sses", "shes", "ches", "xes")):
            word = word[:-2]
        elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
            word = word[:-1]
    if len(word) > 5:
        if word.endswith("ing"):
            word = word[:-3]
        elif word.endswith("ed"):
            word = word[:-2]
        if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
            word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def terms(text: str) -> list[str]:
    """Whole compound identifiers and the stems of their parts."""
    out = []
    for identifier in re.findall(r"[A-Za-z_][A-Za-z0-9_]*|\d+", text):
        parts = [part.lower() for part in PARTS.findall(identifier)]
        if len(parts) > 1:
            out.append(identifier.lower().strip("_"))
        out += [stem(part) for part in parts if len(part) > 1 and part not in STOP]
    return out


class Bm25:
    """Okapi BM25 over lists of terms."""

    def __init__(self, documents: Sequence[list[str]], k1: float = 1.2, b: float = 0.75) -> None:
        self._count = len(documents)
        lengths = np.array([len(document) for document in documents], float)
        postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for at, document in enumerate(documents):
            for term, count in Counter(document).items():
                postings[term].append((at, count))
        self._postings = {}
        for term, rows in postings.items():
            at = np.array([row for row, _ in rows])
            tf = np.array([count for _, count in rows], float)
            idf = math.log(1 + (self._count - len(rows) + 0.5) / (len(rows) + 0.5))
            norm = k1 * (1 - b + b * lengths[at] / lengths.mean())
            self._postings[term] = at, idf * tf * (k1 + 1) / (tf + norm)

    def scores(self, query: list[str]) -> NDArray[np.float64]:
        """The score of every document."""
        total = np.zeros(self._count)
        for term in set(query):
            if term in self._postings:
                at, weights = self._postings[term]
                total[at] += weights
        return total


def ranks(scores: NDArray, gold: NDArray) -> NDArray:
    """The rank of the right document for each query; ties count half."""
    right = scores[np.arange(len(gold)), gold][:, None]
    return (scores > right).sum(1) + ((scores == right).sum(1) - 1) / 2 + 1


def figures(rank: NDArray) -> dict[str, float]:
    """MRR@10, NDCG@10 and recalls."""
    top = rank <= 10
    return {
        "MRR@10": float(np.where(top, 1 / rank, 0).mean()),
        "NDCG@10": float(np.where(top, 1 / np.log2(rank + 1), 0).mean()),
        "R@1": float((rank <= 1).mean()),
        "R@10": float(top.mean()),
    }


def mix(first: NDArray, second: NDArray, share: float = 0.5, depth: int = 200) -> NDArray:
    """A weighted sum of two scores, each scaled to 0..1 over its best documents."""

    def scaled(scores: NDArray) -> NDArray:
        cut = min(depth, scores.shape[1])
        low = np.partition(scores, -cut, axis=1)[:, -cut][:, None]
        return np.clip((scores - low) / (scores.max(1, keepdims=True) - low + 1e-9), 0, None)

    return (1 - share) * scaled(first) + share * scaled(second)


def line(name: str, rank: NDArray, hard: NDArray | None = None) -> str:
    """One printed row of figures."""
    text = f"{name:34}" + "".join(f"  {key} {value:.3f}" for key, value in figures(rank).items())
    if hard is not None and hard.any():
        text += f"  hard MRR {figures(rank[hard])['MRR@10']:.3f}"
    return text
