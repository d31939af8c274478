"""Writes the table in the format that `lore-embed` compiles in, and reads it back.

Little endian: magic, rows, dimensions, name; padding to a multiple of four; the factor for the first line as f32; scales,
passage weights, query weights as f32; the rows as i8; the vocabulary, one piece a line; the SHA-256 of everything before.
The first format had no factor; it is read with 1.
"""

from __future__ import annotations

import hashlib
import os
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .tokens import Tokenizer

MAGIC = b"LOREEMB2"
FIRST_MAGIC = b"LOREEMB1"
ROTATION_SEED = 384


@dataclass(frozen=True)
class Table:
    """What the file holds."""

    name: str
    lead: float
    scale: NDArray[np.float32]
    passage: NDArray[np.float32]
    query: NDArray[np.float32]
    rows: NDArray[np.int8]
    vocabulary: list[str]

    def embed(self, counted: list[tuple[int, float]], weights: NDArray[np.float32]) -> NDArray[np.float64]:
        """The unit vector of tokens and what they count; zeros where there are none. Sums in double precision."""
        total = np.zeros(self.rows.shape[1])
        for row, value in counted:
            total += float(self.scale[row]) * float(weights[row]) * value * self.rows[row]
        norm = np.linalg.norm(total)
        return total / norm if norm > 1e-9 else total

    def tokenizer(self) -> Tokenizer:
        return Tokenizer(self.vocabulary, self.lead)


def rotation(size: int) -> NDArray[np.float64]:
    """A fixed random orthonormal matrix. The model is linear, so turning all rows changes no similarity; it spreads what
    the rows say over all dimensions, which codes of one bit for each dimension need."""
    q, r = np.linalg.qr(np.random.default_rng(ROTATION_SEED).normal(size=(size, size)))
    return q * np.sign(np.diag(r))


def quantised(name: str, lead: float, table: NDArray, passage: NDArray, query: NDArray, vocabulary: list[str]) -> Table:
    """Turns the rows and rounds them to eight bits with one scale each."""
    turned = table.astype(np.float64) @ rotation(table.shape[1])
    scale = np.maximum(np.abs(turned).max(1) / 127, 1e-9).astype(np.float32)
    rows = np.clip(np.round(turned / scale[:, None].astype(np.float64)), -127, 127).astype(np.int8)

    def rounded(weights: NDArray) -> NDArray[np.float32]:
        return np.round(weights.astype(np.float64), 4).astype(np.float32)

    return Table(name, lead, scale, rounded(passage), rounded(query), rows, vocabulary)


def write(path: Path, table: Table) -> None:
    """Replaces the file in one step."""
    name = table.name.encode("utf-8")
    count, size = table.rows.shape
    head = MAGIC + struct.pack("<III", count, size, len(name)) + name
    head += bytes(-len(head) % 4) + struct.pack("<f", table.lead)
    vocabulary = "\n".join(table.vocabulary).encode("utf-8")
    body = head + b"".join(
        part.tobytes()
        for part in (table.scale.astype("<f4"), table.passage.astype("<f4"), table.query.astype("<f4"), table.rows)
    )
    body += struct.pack("<I", len(vocabulary)) + vocabulary
    partial = path.with_suffix(".part")
    partial.write_bytes(body + hashlib.sha256(body).digest())
    os.replace(partial, path)


def read(path: Path) -> Table:
    """Reads and checks the file."""
    data = path.read_bytes()
    if data[:8] not in (MAGIC, FIRST_MAGIC) or hashlib.sha256(data[:-32]).digest() != data[-32:]:
        raise ValueError(f"{path} is damaged or of another format")
    count, size, length = struct.unpack_from("<III", data, 8)
    name = data[20 : 20 + length].decode("utf-8")
    at = 20 + length
    at += -at % 4
    lead = 1.0
    if data[:8] == MAGIC:
        (lead,) = struct.unpack_from("<f", data, at)
        at += 4
    floats = np.frombuffer(data, "<f4", 3 * count, at).reshape(3, count)
    at += 12 * count
    rows = np.frombuffer(data, np.int8, count * size, at).reshape(count, size)
    at += count * size
    (length,) = struct.unpack_from("<I", data, at)
    vocabulary = data[at + 4 : at + 4 + length].decode("utf-8").split("\n")
    return Table(name, lead, floats[0], floats[1], floats[2], rows, vocabulary)
