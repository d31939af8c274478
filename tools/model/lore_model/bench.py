"""Builds a retrieval benchmark from checked-out repositories, in the way of the training pairs.

A query is the first sentence of a documentation comment, the right answer is the function it stands above, without it.
Functions without documentation are in the corpus too.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path

from . import code, prose
from .collect import fingerprint


def build(checkouts: list[Path], out: Path, cap: int = 1000, query_cap: int = 150, seed: int = 7) -> None:
    """Writes corpus.jsonl and queries.jsonl; at most `cap` functions and `query_cap` queries a repository."""
    order = random.Random(seed)
    documents: list[dict] = []
    for checkout in checkouts:
        rows = functions(checkout)
        order.shuffle(rows)
        rows.sort(key=lambda row: row["query"] is None)
        asked = sum(row["query"] is not None for row in rows)
        share = min(asked, cap * 3 // 5)
        documents += rows[:share] + rows[asked : asked + cap - share]
    common = Counter(row["query"] for row in documents)
    queries, by_repository = [], Counter()
    order.shuffle(documents)
    for at, row in enumerate(documents):
        query = row.pop("query")
        row["id"] = at
        if query is None or common[query] > 1 or by_repository[row["repository"]] >= query_cap:
            continue
        by_repository[row["repository"]] += 1
        queries.append({"query": query, "id": at, "repository": row["repository"], "language": row["language"]})
    out.mkdir(parents=True, exist_ok=True)
    for name, rows in (("corpus.jsonl", documents), ("queries.jsonl", queries)):
        (out / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    print(f"{len(documents)} functions, {len(queries)} queries: {dict(by_repository)}")


def functions(checkout: Path) -> list[dict]:
    """The distinct functions of a checkout, each with its query or None."""
    rows, seen = [], set()
    for folder, folders, names in os.walk(checkout):
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            relative = path.relative_to(checkout).as_posix()
            if path.is_symlink() or not path.is_file() or path.stat().st_size > 400_000:
                continue
            for found in code.definitions(relative, path.read_bytes()):
                # Whole types would repeat the functions in them.
                is_short = found.code.count("\n") < 3 or len(found.code) < 80 or len(found.code) > 6000
                mark = fingerprint(found.code)
                if is_short or mark in seen or found.is_type:
                    continue
                seen.add(mark)
                text = found.documentation if found.language == "python" else prose.comment_text(found.documentation)
                query = prose.query(text, found.name) if found.documentation else None
                if query is not None and len(query.split()) < 4:
                    query = None
                rows.append(
                    {
                        "repository": checkout.name,
                        "path": relative,
                        "language": found.language,
                        "name": found.name,
                        "container": found.container,
                        "line": found.line,
                        "code": found.code,
                        "query": query,
                    }
                )
    return rows
