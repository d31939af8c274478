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
from functools import cache, partial
from pathlib import Path

from . import archives, code, prose, sections
from .languages import BY_EXTENSION
from .manifest import Package
from .tokens import WORD

# Documented functions of one language, or sections, from one package, so that no large package dominates.
CAP = 800
# Functions of one language from one package that have no usable documentation: their names are the queries.
NAMED_CAP = 500
# So many functions with the same words in their names, in one language: `to string` says nothing after some.
SAME_NAME = 4
LONGEST_TEXT = 3000
LONGEST_NAMED_TEXT = 1500
LONGEST_REST = 1000
HELD_OUT_SHARE = 25  # One package in so many is kept for evaluation.


@dataclass(frozen=True)
class Pair:
    """A query, the text that answers it, and where both come from.

    `text` has neither the query nor other documentation in it; `rest` is the documentation after the query. Where
    nothing usable was written about a function, the query is empty, and training asks for its name.
    """

    query: str
    text: str
    name: str
    container: str
    rest: str
    package: str
    language: str


def fingerprint(text: str) -> bytes:
    """What two copies of the same code share: its letters and digits."""
    return hashlib.md5(re.sub(r"\W", "", text)[:2000].encode()).digest()


@cache
def is_held_out(package: str) -> bool:
    """Decides by the name alone, so that a package stays on its side when others come and go.

    What Debian calls `python3-name` stands on the side of `name`.
    """
    name = re.sub(r"^\w+/", "", package)
    short = re.sub(r"(-java|-dev)$", "", re.sub(r"^(python3?|node|ruby|php|lua|lib|golang)-?", "", name))
    return any(hashlib.md5(text.encode()).digest()[0] % HELD_OUT_SHARE == 0 for text in (name, short))


def collect(
    packages: list[Package], folder: Path, out: Path, kept_out: Iterable[str] = (), workers: int = 2
) -> Counter:
    """Writes the pairs of all packages to a JSON-lines file, each function and each query for a name only once.

    `kept_out` are texts of functions that must not be trained on, such as those of a benchmark.
    """
    barred = {fingerprint(text) for text in kept_out}
    seen: set[bytes | tuple[str, bytes]] = set()
    counts: Counter = Counter()
    named: Counter = Counter()
    archives.download(folder, (archive for package in packages for archive in package.archives))
    with ProcessPoolExecutor(workers) as pool, out.open("w", encoding="utf-8") as file:
        for label, pairs in pool.map(partial(package_pairs, folder), packages, chunksize=4):
            if isinstance(pairs, str):
                print(f"left out {label}: {pairs}")
                continue
            for pair in pairs:
                body = fingerprint(pair.text)
                question = hashlib.md5(f"{pair.query.lower()} {pair.name}".encode()).digest()
                if body in barred:
                    counts["kept out"] += 1
                    continue
                if (pair.language, body) in seen or (pair.query and question in seen):
                    continue
                if not pair.query:
                    key = pair.language, name_words(pair.name)
                    named[key] += 1
                    if named[key] > SAME_NAME:
                        continue
                seen.update((question, (pair.language, body)))
                counts[pair.language if pair.query else f"{pair.language}, names"] += 1
                file.write(json.dumps(asdict(pair), ensure_ascii=False) + "\n")
    return counts


def package_pairs(folder: Path, package: Package) -> tuple[str, list[Pair] | str]:
    """The pairs of one package, or why it was refused."""
    try:
        data = [archives.cached(folder, archive) for archive in package.archives]
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
        if counts[kind, True] >= CAP and (kind == "docs" or counts[kind, False] >= NAMED_CAP):
            continue
        found = documents(path, source, package.label) if kind == "docs" else functions(path, source, package.label)
        for pair in found:
            documented = pair.query != ""
            if counts[kind, documented] < (CAP if documented else NAMED_CAP):
                counts[kind, documented] += 1
                pairs.append(pair)
    return package.label, pairs


def functions(path: str, source: bytes, package: str) -> Iterator[Pair]:
    """The functions and types of a source file: the documented ones, and others whose names say something."""
    for found in code.definitions(path, source):
        text = found.documentation if found.language == "python" else prose.comment_text(found.documentation)
        query = prose.query(text, found.name) if text else None
        about = found.name, found.container
        if query is not None:
            rest = prose.sentence_and_rest(text)[1][:LONGEST_REST]
            yield Pair(query, found.code[:LONGEST_TEXT], *about, rest, package, found.language)
        elif not found.is_type and 2 <= len(name_words(found.name).split()) <= 8:
            text = " ".join(text.split())[:LONGEST_REST]
            yield Pair("", found.code[:LONGEST_NAMED_TEXT], *about, text, package, found.language)


def name_words(name: str) -> str:
    """The words of an identifier, in lower case."""
    return " ".join(WORD.findall(name)).lower()


def documents(path: str, data: bytes, package: str) -> Iterator[Pair]:
    """The sections of a document."""
    for section in sections.sections(path, data):
        for query, text in sections.queries(section):
            above = " ".join(section.headings[:-1])
            yield Pair(query, text[:LONGEST_TEXT], section.headings[-1], above, "", package, "docs")


def read(path: Path) -> Iterator[Pair]:
    """Reads the pairs back, one at a time: all of them need gigabytes."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield Pair(**json.loads(line))


def spread(pairs: Iterable[Pair]) -> Counter:
    """In how many packages each word occurs."""
    words: dict[str, set[str]] = {}
    for pair in pairs:
        known = words.setdefault(pair.package, set())
        for text in (pair.query, pair.name, pair.container, pair.rest, pair.text):
            known.update(WORD.findall(text))
    return Counter(word for known in words.values() for word in {word.lower() for word in known})
