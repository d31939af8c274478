"""The manifest packages.jsonl: one package in each line, with what is needed to fetch it again and to trust it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Archive:
    """One file to download and its checksum."""

    url: str
    sha256: str


@dataclass(frozen=True)
class Package:
    """One release in one ecosystem: pypi, crates, npm or debian (a source package)."""

    ecosystem: str
    name: str
    version: str
    licence: str
    archives: tuple[Archive, ...]

    @property
    def label(self) -> str:
        return f"{self.ecosystem}/{self.name}"


def read(path: Path) -> list[Package]:
    """Reads the manifest in its own order."""
    packages = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        row["archives"] = tuple(Archive(**archive) for archive in row["archives"])
        packages.append(Package(**row))
    return packages


def write(path: Path, packages: list[Package]) -> None:
    """Writes the manifest sorted by ecosystem and name."""
    rows = sorted(packages, key=lambda package: (package.ecosystem, package.name))
    text = "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
