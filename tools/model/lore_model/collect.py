"""Collects training pairs (query, text) from the packages of the manifest."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from . import archives, code, prose, sections
from .languages import BY_EXTENSION
from .manifest import Package

CAP = 500  # Pairs of one kind from one package, so that no large package dominates.
LONGEST_TEXT = 3000
HELD_OUT_SHARE = 25  # One package in so many is kept for evaluation.


@dataclass(frozen=True)
class Pair:
    """A query, the text that answers it, and where both come from."""

    query: str
    text: str
    name: str
    package: str
    language: str


def fingerprint(text: str) -> bytes:
    """What two copies of the same code share: its letters and digits."""
    return hashlib.md5(re.sub(r"\W", "", text)[:2000].encode()).digest()


def is_held_out(package: str) -> bool:
    """Decides by the name alone, so that a package stays on its side when others come and go."""
    name = re.sub(r"^\w+/", "", package)
    return hashlib.md5(name.encode()).digest()[0] % HELD_OUT_SHARE == 0


def collect(packages: list[Package], cache: Path, out: Path, kept_out: Iterable[str] = (), workers: int = 2) -> Counter:
    """Writes the pairs of all packages to a JSON-lines file, each function and each query for a name only once.

    `kept_out` are texts of functions that must not be trained on, such as those of a benchmark.
    """
    barred = {fingerprint(text) for text in kept_out}
    seen: set[bytes | tuple[str, bytes]] = set()
    counts: Counter = Counter()
    with ProcessPoolExecutor(workers) as pool, out.open("w", encoding="utf-8") as file:
        for label, pairs in pool.map(partial(package_pairs, cache), packages, chunksize=4):
            if isinstance(pairs, str):
                print(f"left out {label}: {pairs}")
                continue
            for pair in pairs:
                body = fingerprint(pair.text)
                question = hashlib.md5(f"{pair.query.lower()} {pair.name}".encode()).digest()
                if body in barred:
                    counts["kept out"] += 1
                elif question not in seen and (pair.language, body) not in seen:
                    seen.update((question, (pair.language, body)))
                    counts[pair.language] += 1
                    file.write(json.dumps(asdict(pair), ensure_ascii=False) + "\n")
    return counts


def package_pairs(cache: Path, package: Package) -> tuple[str, list[Pair] | str]:
    """The pairs of one package, or why it was refused."""
    try:
        data = [archives.cached(cache, archive) for archive in package.archives]
        _, files = archives.files(package, data)
    except archives.Refused as refusal:
        return package.label, str(refusal)
    order = random.Random(package.label)
    files.sort()
    order.shuffle(files)
    counts: Counter = Counter()
    pairs: list[Pair] = []
    for path, source in files:
        language = BY_EXTENSION.get(Path(path).suffix)
        kind = language.name if language else "docs"
        if counts[kind] >= CAP:
            continue
        found = documents(path, source, package.label) if kind == "docs" else functions(path, source, package.label)
        for pair in found:
            if counts[kind] < CAP:
                counts[kind] += 1
                pairs.append(pair)
    return package.label, pairs


def functions(path: str, source: bytes, package: str) -> Iterator[Pair]:
    """The documented functions and types of a source file."""
    for found in code.definitions(path, source):
        if not found.documentation:
            continue
        text = found.documentation if found.language == "python" else prose.comment_text(found.documentation)
        query = prose.query(text, found.name)
        if query is not None:
            yield Pair(query, found.code[:LONGEST_TEXT], found.name, package, found.language)


def documents(path: str, data: bytes, package: str) -> Iterator[Pair]:
    """The sections of a document."""
    for section in sections.sections(path, data):
        for query, text in sections.queries(section):
            yield Pair(query, text[:LONGEST_TEXT], section.headings[-1], package, "docs")


def read(path: Path) -> list[Pair]:
    """Reads the pairs back."""
    with path.open(encoding="utf-8") as file:
        return [Pair(**json.loads(line)) for line in file]
