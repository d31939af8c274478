"""Turns collected pairs into training examples: what is asked, and a passage in the form that Lore embeds.

Lore puts the names that a chunk defines, and the name of what it stands in, into a line before its text. A chunk in a
repository has its documentation in it, and the sentence that is the query here would answer it; so that sentence is
cut out, and the rest of the documentation is there in some examples and missing in others.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .collect import Pair, name_words

# The shares of the forms of a documented function: code alone, and names, the other documentation and code. What is
# left has names and code.
BARE, WITH_REST = 0.3, 0.35
# The share of the documented functions that are asked for by their names too.
NAMED = 0.3
# How often a query gets words that people type around it, and the name of its language.
ASIDE = 0.2
ASIDES = """how to|how do i|how can i|how does|where is|where do we|what does|what is the|find|function to|code to|example
method that|a way to|which function|the code that""".replace("\n", "|").split("|")
LANGUAGE_WORDS = {
    "cpp": ["c++"],
    "csharp": ["c#", "csharp"],
    "docs": ["docs"],
    "go": ["go", "golang"],
    "javascript": ["javascript", "js"],
    "shell": ["bash", "shell"],
    "typescript": ["typescript", "ts"],
}


@dataclass(frozen=True)
class Example:
    """A query and its passage. Batches are made of one group."""

    query: str
    passage: str
    package: str
    group: str


def examples(pairs: Iterable[Pair], order: random.Random) -> Iterator[Example]:
    """All examples of the pairs: the documentation asks for the code, and the name for the code without it."""
    for pair in pairs:
        if pair.query:
            query = with_asides(pair.query, pair.language, order)
            yield Example(query, varied_passage(pair, order), pair.package, pair.language)
        # Of the documented functions, which have asked already, some are enough.
        if is_telling(pair) and (not pair.query or order.random() < NAMED):
            has_rest = order.random() < 0.5
            yield Example(name_words(pair.name), nameless(pair, has_rest), pair.package, f"{pair.language} names")


def is_telling(pair: Pair) -> bool:
    """Whether the name of a function says enough to be a query."""
    return pair.language != "docs" and 2 <= len(name_words(pair.name).split()) <= 8


def passage(pair: Pair, rest: bool = True) -> str:
    """The text as Lore embeds it."""
    body = f"{pair.rest}\n{pair.text}" if rest and pair.rest else pair.text
    # A heading that is the query, or a part of it, is not repeated.
    name = "" if pair.language == "docs" and pair.name in pair.query else pair.name
    return f"{name} {pair.container}\n{body}"


def varied_passage(pair: Pair, order: random.Random) -> str:
    """One of the forms of a passage."""
    if pair.language == "docs":
        return passage(pair)
    form = order.random()
    return f"\n{pair.text}" if form < BARE else passage(pair, rest=form < BARE + WITH_REST)


def nameless(pair: Pair, rest: bool) -> str:
    """A passage without the name of the function, also where it calls itself."""
    text = f"{pair.rest}\n{pair.text}" if rest else pair.text
    return f"{pair.container}\n" + re.sub(rf"(?<!\w){re.escape(pair.name)}(?!\w)", " ", text)


def with_asides(query: str, language: str, order: random.Random) -> str:
    """The query, at times with words that say nothing about the answer, so that training learns to overlook them."""
    if order.random() < ASIDE:
        query = f"{order.choice(ASIDES)} {query}"
    if order.random() < ASIDE:
        word = order.choice(LANGUAGE_WORDS.get(language, [language]))
        query = order.choice([f"{word} {query}", f"{query} {word}", f"{query} in {word}"])
    return query
