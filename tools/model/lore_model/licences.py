"""Reads licence declarations and says whether they are permissive.

Only what a package declares about itself counts: an SPDX expression, a trove classifier or a Debian copyright file.
Licence texts are not guessed at: a package that declares nothing is refused.
"""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass

# Identifiers in lower case: SPDX, then Debian's short names, then forms that are common in older metadata.
PERMISSIVE = frozenset(
    """
    mit mit-0 apache-2.0 bsd-2-clause bsd-3-clause bsd-4-clause-uc 0bsd isc zlib unlicense cc0-1.0 bsl-1.0 psf-2.0
    python-2.0 python-2.0.1 ncsa postgresql unicode-3.0 unicode-dfs-2016 blueoak-1.0.0 wtfpl hpnd x11 openssl curl
    bzip2-1.0.6 libpng libpng-2.0 tcl bsd-1-clause bsd-3-clause-clear mit-cmu libtiff ijg upl-1.0 afl-3.0
    expat apache-2 bsd-2 bsd-3 bsd public-domain public_domain publicdomain pd psf boost boost-1.0 mit/x11 mit/expat x11-mit
    apache2 asl-2.0 asl2 apache mit-style bsd-style bsd-2-clauses bsd-3-clauses cc0 zlib/libpng apache-2.0-with-llvm-exception
    """.split()
)

# What people write into free-text licence fields.
SPELLINGS = {
    "mit license": "MIT",
    "the mit license": "MIT",
    "mit licence": "MIT",
    "the mit license (mit)": "MIT",
    "mit license (mit)": "MIT",
    "expat license": "MIT",
    "apache 2.0": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache license version 2.0": "Apache-2.0",
    "apache-2.0 license": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache software license 2.0": "Apache-2.0",
    "apache license": "Apache-2.0",
    "bsd license": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "3-clause bsd": "BSD-3-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause",
    "new bsd license": "BSD-3-Clause",
    "modified bsd license": "BSD-3-Clause",
    "bsd-3": "BSD-3-Clause",
    "bsd 2-clause": "BSD-2-Clause",
    "simplified bsd": "BSD-2-Clause",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "python software foundation license": "PSF-2.0",
    "psf license": "PSF-2.0",
    "boost software license 1.0 (bsl-1.0)": "BSL-1.0",
    "the unlicense (unlicense)": "Unlicense",
    "public domain": "public-domain",
    "historical permission notice and disclaimer (hpnd)": "HPND",
    "zlib/libpng license": "Zlib",
    "university of illinois/ncsa open source license": "NCSA",
}


def normalised(declared: str) -> str:
    """Turns a usual spelling into an SPDX identifier; other text is only trimmed."""
    text = " ".join(declared.split()).strip(" .")
    return SPELLINGS.get(text.lower(), text)


def is_permissive(expression: str) -> bool:
    """Evaluates an SPDX-like expression: one permissive side of an OR is enough, an AND needs both."""
    text = normalised(expression).lower()
    if not text or len(text) > 300:
        return False
    text = re.sub(r"\s+with\s+(llvm-exception|gcc-exception-3\.1)", "", text)
    text = re.sub(r"(?<=\w)\s*/\s*(?=\w)", " or ", text).replace(",", " and ")
    tokens = re.findall(r"\(|\)|[^\s()]+", text)
    try:
        value, rest = _either(tokens)
    except IndexError:
        return False
    return value and not rest


def _either(tokens: list[str]) -> tuple[bool, list[str]]:
    value, rest = _both(tokens)
    while rest and rest[0] == "or":
        right, rest = _both(rest[1:])
        value = value or right
    return value, rest


def _both(tokens: list[str]) -> tuple[bool, list[str]]:
    value, rest = _one(tokens)
    while rest and rest[0] in ("and", "&"):
        if len(rest) > 1 and rest[1] == "and":
            rest = rest[1:]
        right, rest = _one(rest[1:])
        value = value and right
    return value, rest


def _one(tokens: list[str]) -> tuple[bool, list[str]]:
    if tokens[0] == "(":
        value, rest = _either(tokens[1:])
        if rest[0] != ")":
            raise IndexError("unbalanced parentheses")
        return value, rest[1:]
    # Debian marks a variant of a known text with a tilde: BSD-3-clause~Google.
    return tokens[0].split("~")[0] in PERMISSIVE, tokens[1:]


def of_python_metadata(text: str) -> str:
    """Reads PKG-INFO or METADATA: the expression first, then the classifiers, then the short licence field."""
    head = text.split("\n\n", 1)[0]
    if found := re.search(r"^License-Expression:\s*(.+)$", head, re.M):
        return normalised(found.group(1))
    classifiers = re.findall(r"^Classifier: License :: (?:OSI Approved :: )?(.+)$", head, re.M)
    classifiers = [normalised(name) for name in classifiers if name.strip() != "OSI Approved"]
    if classifiers:
        return " AND ".join(dict.fromkeys(name.replace(" ", "-") for name in classifiers))
    if found := re.search(r"^License:\s*(.+)$", head, re.M):
        return normalised(found.group(1))
    return ""


@dataclass(frozen=True)
class DebianCopyright:
    """A machine-readable debian/copyright: which licence holds for which files. The last matching stanza wins."""

    stanzas: tuple[tuple[tuple[str, ...], str], ...]

    @staticmethod
    def parse(text: str) -> DebianCopyright | None:
        """Gives nothing where the file is not in the machine-readable format."""
        if "copyright-format" not in text[:600] and "dep5" not in text[:600]:
            return None
        stanzas = []
        for paragraph in re.split(r"\n\s*\n", text):
            files = re.search(r"^Files:\s*(.+?)(?=^\S|\Z)", paragraph, re.M | re.S)
            licence = re.search(r"^License:[ \t]*(.+)$", paragraph, re.M)
            if files and licence:
                stanzas.append((tuple(files.group(1).replace(",", " ").split()), licence.group(1).strip()))
        return DebianCopyright(tuple(stanzas)) if stanzas else None

    def main(self) -> str:
        """The licence of most files: that of `*`, or of the first stanza that is not packaging."""
        for globs, licence in self.stanzas:
            if "*" in globs:
                return licence
        return ""

    def all_permissive(self) -> bool:
        """Whether every stanza is permissive, but for those that speak of the packaging only."""
        upstream = [licence for globs, licence in self.stanzas if not all(glob.startswith("debian/") for glob in globs)]
        return bool(upstream) and all(is_permissive(licence) for licence in upstream)

    def permits(self, path: str) -> bool:
        """Whether one file of the source tree stands under a permissive licence."""
        value = False
        for globs, licence in self.stanzas:
            if any(fnmatch.fnmatchcase(path, glob) for glob in globs):
                value = is_permissive(licence)
        return value
