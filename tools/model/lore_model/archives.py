"""Downloads archives into a cache, checks their sums and reads the files in them without unpacking to disk."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .licences import DebianCopyright, is_permissive, normalised, of_python_metadata
from .manifest import Archive, Package

AGENT = {"User-Agent": "lore-model-build/1"}
LARGEST_FILE = 400_000


class Refused(Exception):
    """A package that cannot be used; the message says why."""


def fetch(url: str, attempts: int = 3) -> bytes:
    """Reads one address, trying again after a broken connection."""
    for attempt in range(attempts):
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=AGENT), timeout=60) as response:
                return response.read()
        except urllib.error.HTTPError as error:
            if error.code < 500 or attempt + 1 == attempts:
                raise Refused(f"HTTP {error.code} for {url}") from error
        except OSError as error:
            if attempt + 1 == attempts:
                raise Refused(f"{error} for {url}") from error
        time.sleep(1 + attempt)
    raise Refused(f"no attempt made for {url}")


def place(cache: Path, digest: str) -> Path:
    """Where an archive is kept."""
    return cache / "archives" / digest[:2] / digest


def cached(cache: Path, archive: Archive) -> bytes:
    """Gives an archive from the cache or the registry; a wrong checksum is refused."""
    path = place(cache, archive.sha256)
    if path.exists():
        return path.read_bytes()
    data = fetch(archive.url)
    if hashlib.sha256(data).hexdigest() != archive.sha256:
        raise Refused(f"checksum differs for {archive.url}")
    keep(cache, data)
    return data


def download(cache: Path, wanted: Iterable[Archive]) -> None:
    """Fills the cache, several archives at a time. What fails is tried again, and reported, when it is needed."""

    def attempt(archive: Archive) -> None:
        with contextlib.suppress(Refused):
            cached(cache, archive)

    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(attempt, [archive for archive in wanted if not place(cache, archive.sha256).exists()]):
            pass


def keep(cache: Path, data: bytes) -> str:
    """Stores an archive under its checksum and gives the checksum."""
    digest = hashlib.sha256(data).hexdigest()
    path = place(cache, digest)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.part")
        partial.write_bytes(data)
        partial.replace(path)
    return digest


def members(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the regular files of a tar or zip archive that are small enough to be written by hand.

    The first path component, which repeats name and version, is cut off where all files share one.
    """
    if data.startswith(b"!<arch>\n"):
        data = debian_payload(data)
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                if not entry.is_dir() and entry.file_size <= LARGEST_FILE:
                    yield entry.filename, archive.read(entry)
        return
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as archive:
        for entry in archive:
            if entry.isfile() and entry.size <= LARGEST_FILE:
                handle = archive.extractfile(entry)
                if handle is not None:
                    name = entry.name.removeprefix("./")
                    yield name.split("/", 1)[-1], handle.read()


def debian_payload(data: bytes) -> bytes:
    """The data archive inside a binary Debian package, which is an ar archive of three files."""
    at = 8
    while at + 60 <= len(data):
        name, size = data[at : at + 16].decode("ascii").strip(), int(data[at + 48 : at + 58])
        if name.startswith("data.tar"):
            return data[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
    raise Refused("no data archive in the package")


def files(package: Package, data: list[bytes]) -> tuple[str, list[tuple[str, bytes]]]:
    """Gives the licence a package declares about itself, and those of its files that are under a permissive one."""
    try:
        listing = [list(members(archive)) for archive in data]
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, NotImplementedError) as error:
        raise Refused(f"unreadable archive: {error}") from error
    if package.ecosystem == "debian":
        return _debian(listing)
    listed = listing[0]
    licence = {"pypi": _pypi, "crates": _crate, "npm": _npm}[package.ecosystem](listed)
    if not is_permissive(licence):
        raise Refused(f"licence {licence or 'not declared'}")
    return licence, listed


def _pypi(listed: list[tuple[str, bytes]]) -> str:
    candidates = [item for item in listed if item[0].endswith(("PKG-INFO", "METADATA"))]
    if not candidates:
        return ""
    shallowest = min(candidates, key=lambda item: (item[0].count("/"), len(item[0])))
    return of_python_metadata(shallowest[1].decode("utf-8", "replace").replace("\r\n", "\n"))


def _crate(listed: list[tuple[str, bytes]]) -> str:
    import tomllib

    manifest = dict(listed).get("Cargo.toml")
    if manifest is None:
        return ""
    try:
        return normalised(str(tomllib.loads(manifest.decode("utf-8")).get("package", {}).get("license", "")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return ""


def _npm(listed: list[tuple[str, bytes]]) -> str:
    import json

    manifest = dict(listed).get("package.json")
    if manifest is None:
        return ""
    try:
        declared = json.loads(manifest.decode("utf-8-sig")).get("license", "")
    except (ValueError, AttributeError):
        return ""
    if isinstance(declared, dict):
        declared = declared.get("type", "")
    return normalised(declared) if isinstance(declared, str) else ""


def _debian(listing: list[list[tuple[str, bytes]]]) -> tuple[str, list[tuple[str, bytes]]]:
    """The licence and the permissive files of a Debian package.

    Of a source package the last archive is the packaging; its copyright file speaks about the upstream files in the
    others, path by path. The paths in a binary package are different ones, so there every stanza must be permissive.
    """
    wanted = re.compile(r"(debian/)?copyright|share/doc/[^/]+/copyright")
    name, text = next((item for item in listing[-1] if wanted.fullmatch(item[0])), ("", b""))
    copyright_file = DebianCopyright.parse(text.decode("utf-8", "replace")) if text else None
    if copyright_file is None:
        raise Refused("no machine-readable copyright file")
    if not is_permissive(copyright_file.main()):
        raise Refused(f"licence {copyright_file.main() or 'not declared'}")
    if name.startswith("share/doc/"):
        if not copyright_file.all_permissive():
            raise Refused("licence of a part of the files")
        return copyright_file.main(), listing[-1]
    upstream = [item for listed in (listing[:-1] or listing) for item in listed]
    return copyright_file.main(), [item for item in upstream if copyright_file.permits(item[0])]
