"""Turns documentation comments and headings into short natural-language queries."""

from __future__ import annotations

import re

# Where the prose of a documentation comment ends and its formal part begins.
FORMAL_PART = re.compile(
    r"\n\s*(?:@\w+|\\(?:param|return|brief)|# (?:Examples?|Errors?|Panics|Safety|Arguments|Returns)\b"
    r"|(?:Args|Arguments|Parameters|Params|Returns?|Raises|Yields|Examples?|Usage|Notes?|Attributes):"
    r"|(?:Parameters|Returns|Raises|Yields|Examples)\s*\n\s*-{3,}|:param\b|:return|:rtype|:type\b|>>>|={4,}|-{4,})"
)
GENERIC = re.compile(
    r"^(see |todo|fixme|xxx|returns? self|constructor|initiali[sz]e\.?$|getter|setter|deprecated|inherit|main entry"
    r"|copyright|licen[sc]e|spdx|eslint|jshint|istanbul|pylint|noqa|nolint|type:|auto-?generated|generated|not implemented"
    r"|\(?non-javadoc|internal( use)?( only)?\.?$|private\.?$|default constructor)",
    re.I,
)


def comment_text(raw: str) -> str:
    """Removes comment marks and markup from a raw comment."""
    lines = []
    for line in raw.split("\n"):
        line = re.sub(r"^\s*(?:/\*[*!]*|\*+/|\*+(?=\s|$)|//[/!]*|#+(?!\w)|--+)[ \t]?", "", line)
        lines.append(re.sub(r"\s*\*+/\s*$", "", line))
    text = "\n".join(lines)
    if found := re.search(r"<summary>(.*?)</summary>", text, re.S):
        text = found.group(1)
    if found := re.search(r"@(?:summary|brief)\s+(.+)", text):
        text = found.group(1)
    text = re.sub(r"[\\@]brief\s+", "", text)
    text = re.sub(r"\{@(?:link|code|linkplain|literal|value)\s+([^}]*)\}", r"\1", text)
    text = re.sub(r"<(?:see|paramref|typeparamref)\s+\w+=\"(?:\w:)?([^\"]*)\"\s*/>", r"\1", text)
    return re.sub(r"</?[a-zA-Z][^>\n]{0,60}>", " ", text)


def first_sentence(text: str) -> str:
    """The first sentence of the first paragraph, as plain text."""
    return sentence_and_rest(text)[0]


def sentence_and_rest(text: str) -> tuple[str, str]:
    """The first sentence of the first paragraph, as plain text, and the words after it."""
    text = re.sub(r"```.*?```", " ", text, flags=re.S)
    prose = FORMAL_PART.split("\n" + text.strip())[0]
    paragraph = " ".join(re.split(r"\n\s*\n", prose.strip())[0].split())
    found = re.match(r"(.+?[.!?])(\s|$)", paragraph)
    if found and not re.search(r"\b(e\.g|i\.e|etc|vs|cf)\.$", found.group(1)):
        paragraph = found.group(1)
    rest = " ".join(text.split()[len(paragraph.split()) :])
    paragraph = re.sub(r":\w+:`~?([^`<]*)[^`]*`", r"\1", paragraph)
    paragraph = re.sub(r"\[`?([^\]`]+)`?\](\([^)]*\)|\[[^\]]*\])?", r"\1", paragraph)
    return paragraph.replace("`", "").strip(), rest


def query(documentation: str, name: str) -> str | None:
    """A query from a documentation comment, or nothing where it says too little or gives the name away."""
    sentence = first_sentence(documentation)
    words = sentence.split()
    if words and re.sub(r"\W", "", words[0]) == re.sub(r"\W", "", name):
        sentence = " ".join(words[1:])
    sentence = re.sub(r"^(is|are|summary:?|description:?)\s+", "", sentence, flags=re.I).strip(" .:-*")
    if not 3 <= len(sentence.split()) <= 40 or GENERIC.match(sentence) or not is_english(sentence):
        return None
    compound = "_" in name.strip("_") or re.search(r"[a-z][A-Z]", name)
    if compound and re.search(rf"\b{re.escape(name)}\b", sentence):
        return None
    return sentence


def is_english(text: str) -> bool:
    """Whether most characters are ASCII letters; that also drops commented-out code."""
    return sum(char.isascii() and (char.isalpha() or char == " ") for char in text) >= 0.8 * len(text)
