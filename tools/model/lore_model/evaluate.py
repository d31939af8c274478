"""Measures a table: alone, against BM25, and mixed with it."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from . import collect, examples, metrics
from .collect import Pair
from .export import Table
from .tokens import Tokenizer
from .train import Model

HARD = 0.34  # A query is hard when no more than this share of its terms occurs in the right answer.


@dataclass(frozen=True)
class Bench:
    """Queries, documents, the number of the right document for each query; perhaps terms with name and path."""

    queries: list[str]
    documents: list[str]
    gold: NDArray[np.int64]
    fields: list[list[str]]


def from_folder(folder: Path, names: bool = False) -> Bench:
    """Reads what `bench.build` wrote; with names, the passages are as Lore makes them."""
    documents = rows(folder / "corpus.jsonl")
    queries = rows(folder / "queries.jsonl")
    position = {row["id"]: at for at, row in enumerate(documents)}
    fields = [
        metrics.terms(row["code"])
        + metrics.terms(row["name"]) * 2
        + metrics.terms(row["container"])
        + metrics.terms(row["path"])
        for row in documents
    ]
    gold = np.array([position[row["id"]] for row in queries])
    texts = [f"{row['name']} {row['container']}\n{row['code']}" if names else row["code"] for row in documents]
    return Bench([row["query"] for row in queries], texts, gold, fields)


def from_questions(queries_path: Path, functions_path: Path) -> Bench:
    """Reads questions (`query`, `relevant`) and functions (`id`, `code`) from two JSON-lines files."""
    documents, queries = rows(functions_path), rows(queries_path)
    position = {row["id"]: at for at, row in enumerate(documents)}
    gold = np.array([position[row["relevant"]] for row in queries])
    texts = [row["code"] for row in documents]
    return Bench([row["query"] for row in queries], texts, gold, [])


def from_pairs(pairs: list[Pair], limit: int = 1500, least: int = 60) -> dict[str, dict[str, Bench]]:
    """Benchmarks for each form of passage and each language from held-out pairs.

    Find among all texts of the language that of a query: the code alone, the passage as Lore makes it, and from the
    words of a name the code without it.
    """
    grouped: defaultdict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        grouped[pair.language].append(pair)
    out: defaultdict[str, dict[str, Bench]] = defaultdict(dict)
    for language, members in sorted(grouped.items()):
        random.Random(1).shuffle(members)
        asked = [pair for pair in members if pair.query][:limit]
        named = [pair for pair in members if examples.is_telling(pair)][:limit]
        if len(asked) >= least:
            queries, gold = [pair.query for pair in asked], np.arange(len(asked))
            out["code alone"][language] = Bench(queries, [f"\n{pair.text}" for pair in asked], gold, [])
            out["with names"][language] = Bench(queries, [examples.passage(pair) for pair in asked], gold, [])
        if len(named) >= least:
            queries, gold = [collect.name_words(pair.name) for pair in named], np.arange(len(named))
            out["by name"][language] = Bench(queries, [examples.nameless(pair, False) for pair in named], gold, [])
    return dict(out)


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def table_scores(table: Table, bench: Bench) -> NDArray:
    """Similarities computed from the exported eight-bit file."""
    tokenizer = table.tokenizer()
    passages = np.stack([table.embed(tokenizer.counted(text), table.passage) for text in bench.documents])
    queries = np.stack([table.embed(tokenizer.counted(text), table.query) for text in bench.queries])
    return queries @ passages.T


def model_figures(model: Model, tokenizer: Tokenizer, bench: Bench) -> dict[str, float]:
    """Figures of a model in training."""
    scores = model.queries(tokenizer.bags(bench.queries)) @ model.passages(tokenizer.bags(bench.documents)).T
    return metrics.figures(metrics.ranks(scores, bench.gold))


def report(table: Table, bench: Bench) -> None:
    """Prints BM25, the table, and the mix of both."""
    words = [metrics.terms(query) for query in bench.queries]
    bodies = [metrics.terms(text) for text in bench.documents]
    share = [len(set(query) & set(bodies[gold])) / max(1, len(set(query))) for query, gold in zip(words, bench.gold)]
    hard = np.array(share) <= HARD
    print(f"{len(bench.queries)} queries ({hard.sum()} hard), {len(bench.documents)} documents")

    def show(name: str, scores: NDArray) -> None:
        print(metrics.line(name, metrics.ranks(scores, bench.gold), hard), flush=True)

    def bm25(documents: list[list[str]]) -> NDArray:
        index = metrics.Bm25(documents)
        return np.array([index.scores(query) for query in words])

    semantic = table_scores(table, bench)
    lexical = bm25(bodies)
    show("BM25", lexical)
    show("table", semantic)
    show("BM25 + table", metrics.mix(lexical, semantic))
    if bench.fields:
        fielded = bm25(bench.fields)
        show("BM25 with fields", fielded)
        show("BM25 with fields + table", metrics.mix(fielded, semantic))
