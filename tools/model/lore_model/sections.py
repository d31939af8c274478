"""Finds (heading, section) pairs in Markdown and reStructuredText documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .prose import first_sentence, is_english

EXTENSIONS = (".md", ".markdown", ".rst", ".mdx")
SKIPPED = re.compile(
    r"(change|history|news|release|contribut|licen[sc]e|author|notice|code_of_conduct|security|upgrad|todo|roadmap|thanks"
    r"|copying|maintainers|node_modules|/tests?/|third)",
    re.I,
)
DULL = re.compile(
    r"^(install(ation|ing)?|usage|examples?|licen[sc]e|contribut\w*|tests?|testing|changelog|credits?|authors?|overview|todo|faq"
    r"|table of contents|contents|introduction|getting started|quick ?start|features?|requirements?|documentation|api"
    r"|support|links?|notes?|see also|references?|related( projects)?|sponsors?|backers|badges?|build|development)\W*$",
    re.I,
)


@dataclass(frozen=True)
class Section:
    """A heading with those above it, and the text under it up to the next heading."""

    headings: tuple[str, ...]
    body: str


def sections(path: str, data: bytes) -> Iterator[Section]:
    """Cuts a document at its headings."""
    if not path.lower().endswith(EXTENSIONS) or SKIPPED.search(path):
        return
    lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    underlines = path.lower().endswith(".rst")
    stack: list[tuple[int, str]] = []
    body: list[str] = []
    ranks: dict[str, int] = {}
    fenced = False
    for at, line in enumerate(lines):
        heading = None
        if not underlines and line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            heading = rst_heading(lines, at, ranks) if underlines else markdown_heading(lines, at)
        if heading is None:
            body.append(line)
            continue
        if stack:
            yield Section(tuple(title for _, title in stack), clean(body))
        body = []
        while stack and stack[-1][0] >= heading[0]:
            stack.pop()
        stack.append(heading)
    if stack:
        yield Section(tuple(title for _, title in stack), clean(body))


def markdown_heading(lines: list[str], at: int) -> tuple[int, str] | None:
    if found := re.match(r"(#{1,6})\s+(.+?)\s*#*$", lines[at]):
        return len(found.group(1)), plain(found.group(2))
    following = lines[at + 1] if at + 1 < len(lines) else ""
    if lines[at].strip() and re.fullmatch(r"={3,}|-{3,}", following.strip()) and re.match(r"\w", lines[at]):
        return (1 if following.strip()[0] == "=" else 2), plain(lines[at])
    return None


def rst_heading(lines: list[str], at: int, ranks: dict[str, int]) -> tuple[int, str] | None:
    following = lines[at + 1].strip() if at + 1 < len(lines) else ""
    title = lines[at].rstrip()
    if not title or not re.match(r"\w|`", title) or not re.fullmatch(r"([=\-~^\"'#*+.])\1{2,}", following):
        return None
    if len(following) + 2 < len(title):
        return None
    return ranks.setdefault(following[0], len(ranks) + 1), plain(title)


def plain(heading: str) -> str:
    """A heading without links, images and marks."""
    heading = re.sub(r"!?\[([^\]]*)\](\([^)]*\))?|<[^>]+>|:\w+:|\{#[^}]*\}", r"\1", heading)
    return " ".join(re.sub(r"[`*_~]{1,2}", "", heading).split())


def clean(body: list[str]) -> str:
    """A section without badges, rulers and markup lines."""
    kept = [
        line
        for line in body
        if not re.match(r"\s*(\[?!\[|<!--|:\w+:|\.\. (image|_|toctree|\|)|[=\-~^\"'#*+.]{3,}\s*$)", line)
    ]
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"\]\([^)]*\)", "]", "\n".join(kept))).strip()


def queries(section: Section) -> Iterator[tuple[str, str]]:
    """The (query, text) pairs of a section: its heading for the body, and its first sentence for the rest."""
    heading = section.headings[-1]
    if len(section.body) < 160 or len(section.body) > 20_000:
        return
    if not DULL.match(heading):
        title = heading
        if len(heading.split()) < 3 and len(section.headings) > 1 and not DULL.match(section.headings[-2]):
            title = f"{section.headings[-2]} {heading}"
        if 2 <= len(title.split()) <= 20 and is_english(title):
            yield title, section.body
    sentence = first_sentence(section.body)
    rest = section.body[len(sentence) :] if section.body.startswith(sentence) else ""
    if 6 <= len(sentence.split()) <= 40 and is_english(sentence) and len(rest) > 250:
        yield sentence.strip(" .:"), rest.strip()
