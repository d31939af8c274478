"""Resolves the names in seeds.toml to exact releases and writes packages.jsonl.

This is the only step that asks the registries what is newest. Everything after it works from the manifest.
"""

from __future__ import annotations

import json
import lzma
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from . import archives, manifest
from .archives import Refused
from .manifest import Archive, Package

LARGEST_ARCHIVE = 30_000_000
SMALL_ARCHIVE = 1_000_000
DEBIAN = "http://deb.debian.org/debian"

# A package not yet downloaded, and the names it depends on.
Resolved = tuple[Package, list[str]]


def pin(seeds_path: Path, manifest_path: Path, cache: Path, only: set[str]) -> None:
    """Rewrites the manifest; ecosystems that are not in `only` keep the rows they have."""
    seeds = tomllib.loads(seeds_path.read_text(encoding="utf-8"))
    old = manifest.read(manifest_path) if manifest_path.exists() else []
    packages = [package for package in old if package.ecosystem not in only]
    resolvers = {"crates": crate, "npm": npm, "pypi": pypi}
    for ecosystem, resolver in resolvers.items():
        if ecosystem in only:
            packages += closure(ecosystem, resolver, seeds, cache)
            manifest.write(manifest_path, packages)
    if "debian" in only:
        packages += debian(seeds, cache)
    manifest.write(manifest_path, packages)


def barred(name: str, seeds: dict) -> bool:
    """Whether a name is in the benchmarks or in the list of machine-written packages."""
    patterns = seeds["excluded"]["patterns"] + seeds["uninteresting"]["patterns"]
    return any(re.search(pattern, name.lower()) for pattern in patterns)


def closure(ecosystem: str, resolver: Callable[[str], Resolved], seeds: dict, cache: Path) -> list[Package]:
    """Takes the seeds, then their dependencies, level by level, until the limit is reached."""
    limit = seeds["limit"][ecosystem]
    queue = list(dict.fromkeys(seeds[ecosystem]["names"].split()))
    seen: set[str] = set(queue)
    found: list[Package] = []
    while queue and len(found) < limit:
        wanted = [name for name in queue if not barred(name, seeds)]
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda name: attempt(ecosystem, name, resolver, cache), wanted))
        queue = []
        for result in results:
            if result is not None:
                found.append(result[0])
                queue += [name for name in result[1] if name not in seen]
                seen.update(result[1])
        queue = sorted(set(queue))
    print(f"{ecosystem}: {len(found[:limit])} packages")
    return found[:limit]


def attempt(ecosystem: str, name: str, resolver: Callable[[str], Resolved], cache: Path) -> Resolved | None:
    """Resolves, downloads and checks one package; what is refused is reported and skipped."""
    try:
        package, needs = resolver(name)
        return admitted(package, cache), needs
    except (Refused, KeyError, ValueError, IndexError) as refusal:
        print(f"left out {ecosystem}/{name}: {refusal}")
        return None


def admitted(package: Package, cache: Path) -> Package:
    """Downloads the archives of a package and fills in their sums and the licence."""
    data, sums = [], []
    for archive in package.archives:
        if archive.sha256:
            data.append(archives.cached(cache, archive))
            sums.append(archive)
        else:
            data.append(archives.fetch(archive.url))
            sums.append(replace(archive, sha256=archives.keep(cache, data[-1])))
    licence, _ = archives.files(package, data)
    return replace(package, licence=licence, archives=tuple(sums))


def crate(name: str) -> Resolved:
    """The newest release of a crate, from the sparse index."""
    lower = name.lower()
    folder = {1: "1", 2: "2", 3: f"3/{lower[0]}"}.get(len(lower), f"{lower[:2]}/{lower[2:4]}")
    lines = archives.fetch(f"https://index.crates.io/{folder}/{lower}").decode().splitlines()
    rows = [row for row in map(json.loads, lines) if not row["yanked"]]
    stable = [row for row in rows if "-" not in row["vers"]] or rows
    row = max(stable, key=lambda row: [int(part) for part in re.findall(r"\d+", row["vers"].split("+")[0])[:3]])
    url = f"https://static.crates.io/crates/{row['name']}/{row['name']}-{row['vers']}.crate"
    needs = [need.get("package") or need["name"] for need in row["deps"] if need["kind"] == "normal"]
    return Package("crates", row["name"], row["vers"], "", (Archive(url, row["cksum"]),)), needs


def npm(name: str) -> Resolved:
    """The release that npm calls latest."""
    row = json.loads(archives.fetch(f"https://registry.npmjs.org/{name.replace('/', '%2f')}/latest"))
    if row["dist"].get("unpackedSize", 0) > 4 * LARGEST_ARCHIVE:
        raise Refused("too large")
    tarball = row["dist"]["tarball"]
    return Package("npm", name, row["version"], "", (Archive(tarball, ""),)), sorted(row.get("dependencies") or {})


def pypi(name: str) -> Resolved:
    """The newest release on PyPI: the source archive, or a wheel where that is missing or too large."""
    row = json.loads(archives.fetch(f"https://pypi.org/pypi/{name}/json"))
    usable = [
        item for item in row["urls"] if item["size"] <= LARGEST_ARCHIVE and item["filename"].endswith((".gz", ".whl"))
    ]
    if not usable:
        raise Refused("no archive of a usable size")
    best = min(
        usable, key=lambda item: (item["packagetype"] != "sdist", "none-any" not in item["filename"], item["size"])
    )
    # Mirrors of PyPI answer with paths relative to themselves; the manifest names the public address.
    address = re.sub(r"^(\.\./)+(packages/)+", "https://files.pythonhosted.org/packages/", best["url"])
    archive = Archive(address, best["digests"]["sha256"])
    needs = [
        re.split(r"[^\w.-]", need)[0].lower() for need in row["info"]["requires_dist"] or [] if "extra ==" not in need
    ]
    return Package("pypi", row["info"]["name"].lower(), row["info"]["version"], "", (archive,)), needs


def debian(seeds: dict, cache: Path) -> list[Package]:
    """Source packages of a Debian release, and binary packages that hold source text where the former are missing."""
    settings = seeds["debian"]
    base = f"{DEBIAN}/dists/{settings['release']}/main"
    names = set(settings["names"].split())
    largest = settings["megabytes"] * 1_000_000
    wanted: dict[str, Package] = {}
    for stanza in control_stanzas(f"{base}/source/Sources.xz"):
        name = field(stanza, "Package")
        by_pattern = any(re.search(pattern, name) for pattern in settings["source_patterns"])
        if (by_pattern or name in names) and not barred(name, seeds):
            package, size = source_package(stanza, name)
            if package.archives and size <= (largest if by_pattern else LARGEST_ARCHIVE):
                wanted[name] = package
    for stanza in control_stanzas(f"{base}/binary-amd64/Packages.xz"):
        name = field(stanza, "Package")
        limits = [(settings["binary_patterns"], largest), (settings["small_binary_patterns"], SMALL_ARCHIVE)]
        limit = max((size for patterns, size in limits if any(re.search(p, name) for p in patterns)), default=0)
        if limit and int(field(stanza, "Size")) <= limit and not barred(name, seeds):
            archive = Archive(f"{DEBIAN}/{field(stanza, 'Filename')}", field(stanza, "SHA256"))
            wanted[name] = Package("debian", name, field(stanza, "Version"), "", (archive,))

    def admit(package: Package) -> Resolved | None:
        return attempt("debian", package.name, lambda _: (package, []), cache)

    with ThreadPoolExecutor(8) as pool:
        found = [result[0] for result in pool.map(admit, wanted.values()) if result is not None]
    print(f"debian: {len(found)} packages; licences {Counter(package.licence for package in found).most_common(12)}")
    return found


def control_stanzas(url: str) -> list[str]:
    """The stanzas of a compressed Debian index."""
    return lzma.decompress(archives.fetch(url)).decode("utf-8", "replace").split("\n\n")


def field(stanza: str, name: str) -> str:
    """One field of a Debian control stanza, with its continuation lines."""
    found = re.search(rf"^{name}:[ \t]*((?:.*)(?:\n[ \t].*)*)", stanza, re.M)
    return found.group(1).strip() if found else ""


def source_package(stanza: str, name: str) -> tuple[Package, int]:
    """The archives of a source package, upstream first and packaging last, and their size."""
    folder = field(stanza, "Directory")
    rows = [line.split() for line in field(stanza, "Checksums-Sha256").splitlines() if line.strip()]
    tars = [row for row in rows if re.search(r"\.tar\.(gz|xz|bz2)$", row[2])]
    tars.sort(key=lambda row: ".debian.tar." in row[2])
    found = tuple(Archive(f"{DEBIAN}/{folder}/{row[2]}", row[0]) for row in tars)
    return Package("debian", name, field(stanza, "Version"), "", found), sum(int(row[1]) for row in tars)
