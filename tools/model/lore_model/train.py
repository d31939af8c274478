"""Contrastive training of the token table, in numpy.

A text is the weighted sum of its token rows, normalised. Queries and passages share the rows but have weights of their
own. A batch holds pairs of one group, which is a language and a kind of query; every other passage of the batch is a
negative, in both directions, unless its query has the same words. The gradient of this model is short enough to be
written by hand, which spares a framework of several gigabytes.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float32]

# Sparse products, gathers and square roots leave the interpreter, so two threads are worth their while.
THREADS = ThreadPoolExecutor(2)


@dataclass(frozen=True)
class Recipe:
    """The settings of a training run."""

    epochs: int = 1
    batch: int = 1024
    # So many pairs of the same package stand together in a batch: neighbours are the hardest negatives.
    neighbours: int = 32
    temperature: float = 0.05
    table_rate: float = 4e-3
    weight_rate: float = 1e-2
    warm_up: int = 20
    seed: int = 0


@dataclass
class Model:
    """The table and the two weights of each token, before softplus."""

    table: Floats
    passage: Floats
    query: Floats

    def encode(self, bags: sparse.csr_matrix, weights: Floats) -> Floats:
        """Unit vectors of the given bags of tokens."""
        out = weighted(bags, softplus(weights)) @ self.table
        return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)

    def passages(self, bags: sparse.csr_matrix) -> Floats:
        return self.encode(bags, self.passage)

    def queries(self, bags: sparse.csr_matrix) -> Floats:
        return self.encode(bags, self.query)


def softplus(x: Floats) -> Floats:
    return np.logaddexp(np.float32(0), x).astype(np.float32)


def weighted(bags: sparse.csr_matrix, weights: Floats) -> sparse.csr_matrix:
    """The bags with every entry multiplied by the weight of its token."""
    return sparse.csr_matrix((bags.data * weights[bags.indices], bags.indices, bags.indptr), shape=bags.shape)


def initial_weights(passages: sparse.csr_matrix) -> Floats:
    """Inverse document frequencies around one, inverted through softplus."""
    counts = np.bincount(passages.indices, minlength=passages.shape[1])
    idf = np.log((passages.shape[0] + 1) / (counts + 1)) + 0.3
    return np.log(np.expm1(np.clip(idf / idf[counts > 0].mean(), 0.05, None))).astype(np.float32)


class Adam:
    """Adam that touches only the rows that have a gradient."""

    def __init__(self, values: Floats) -> None:
        self.values = values
        self._first = np.zeros_like(values)
        self._second = np.zeros_like(values)

    def step(self, rows: NDArray, gradient: Floats, rate: float, count: int) -> None:
        half = len(rows) // 2

        def part(piece: slice) -> None:
            self._step(rows[piece], gradient[piece], rate, count)

        list(THREADS.map(part, (slice(0, half), slice(half, None))))

    def _step(self, rows: NDArray, gradient: Floats, rate: float, count: int) -> None:
        first = self._first[rows]
        first *= np.float32(0.9)
        first += gradient * np.float32(0.1)
        self._first[rows] = first
        second = self._second[rows]
        second *= np.float32(0.999)
        second += gradient * gradient * np.float32(0.001)
        self._second[rows] = second
        second *= np.float32(1 / (1 - 0.999**count))
        first *= np.float32(rate / (1 - 0.9**count))
        first /= np.sqrt(second, out=second) + np.float32(1e-8)
        self.values[rows] -= first


class Side:
    """One side of a batch on its way forward and back, over the tokens that occur in it."""

    def __init__(self, bags: sparse.csr_matrix, weights: Floats, table: Floats) -> None:
        self.tokens, compact = distinct(bags.indices, len(table))
        shape = (bags.shape[0], len(self.tokens))
        self._bags = sparse.csr_matrix((bags.data, compact, bags.indptr), shape=shape)
        self._rows = table[self.tokens]
        self._weights = softplus(weights[self.tokens])
        # The derivative of softplus is the logistic function.
        self._slope = 1 / (1 + np.exp(-weights[self.tokens]))
        raw = self._bags @ (self._rows * self._weights[:, None])
        self._norm = np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), np.float32(1e-9))
        self.unit = raw / self._norm

    def backward(self, gradient: Floats) -> tuple[Floats, Floats]:
        """From the gradient of the unit vectors to those of the rows and of the weights of `tokens`."""
        raw = (gradient - self.unit * (gradient * self.unit).sum(1, keepdims=True)) / self._norm
        shared = self._bags.T @ raw
        return shared * self._weights[:, None], np.einsum("ij,ij->i", shared, self._rows) * self._slope


def distinct(tokens: NDArray, count: int) -> tuple[NDArray, NDArray]:
    """The different tokens in order, and each token's place among them."""
    seen = np.zeros(count, bool)
    seen[tokens] = True
    found = np.flatnonzero(seen)
    place = np.empty(count, np.int32)
    place[found] = np.arange(len(found), dtype=np.int32)
    return found, place[tokens]


def contrast(queries: Floats, passages: Floats, alike: NDArray, temperature: float) -> tuple[float, Floats, Floats]:
    """The symmetric cross entropy of a batch and its gradients; pairs that are `alike` are no negatives."""
    # No cosine is above one, so this shift keeps the exponents small.
    scores = np.exp((queries @ passages.T - 1) * np.float32(1 / temperature))
    scores[alike] = 0
    across = scores / scores.sum(1, keepdims=True)
    down = scores / scores.sum(0, keepdims=True)
    count = len(scores)
    right = np.arange(count)
    loss = -0.5 * (np.log(across[right, right] + 1e-12).mean() + np.log(down[right, right] + 1e-12).mean())
    gradient = (across + down) * np.float32(0.5)
    gradient[right, right] -= 1
    gradient *= np.float32(1 / (count * temperature))
    return float(loss), gradient @ passages, gradient.T @ queries


def batches(groups: Sequence[str], packages: Sequence[str], recipe: Recipe, order: random.Random) -> list[NDArray]:
    """Batches of one group, in which runs of pairs come from the same package."""
    grouped: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for at, (group, package) in enumerate(zip(groups, packages)):
        grouped[group][package].append(at)
    out = []
    for by_package in grouped.values():
        runs = []
        for members in by_package.values():
            order.shuffle(members)
            runs += [members[at : at + recipe.neighbours] for at in range(0, len(members), recipe.neighbours)]
        order.shuffle(runs)
        flat = [at for run in runs for at in run]
        # A short rest joins the batch before it, unless it is all there is.
        count = max(1, round(len(flat) / recipe.batch))
        out += np.array_split(np.array(flat), count)
    order.shuffle(out)
    return out


def marks(queries: sparse.csr_matrix) -> NDArray[np.float64]:
    """A number for each query that depends on its words alone."""
    return queries @ np.random.default_rng(3).integers(1, 2**40, size=queries.shape[1]).astype(np.float64)


def train(
    model: Model,
    queries: sparse.csr_matrix,
    passages: sparse.csr_matrix,
    groups: Sequence[str],
    packages: Sequence[str],
    recipe: Recipe,
    report: Callable[[int, float], None],
) -> None:
    """Trains the model in place and reports the mean loss after each epoch."""
    order = random.Random(recipe.seed)
    table, passage, query = Adam(model.table), Adam(model.passage), Adam(model.query)
    plan = [batches(groups, packages, recipe, order) for _ in range(recipe.epochs)]
    total = sum(len(epoch) for epoch in plan)
    mark = marks(queries)
    count, started = 0, time.time()
    for number, epoch in enumerate(plan, 1):
        losses = []
        for rows in epoch:
            ahead = THREADS.submit(Side, queries[rows], model.query, model.table)
            right = Side(passages[rows], model.passage, model.table)
            left = ahead.result()
            alike = mark[rows][:, None] == mark[rows]
            np.fill_diagonal(alike, False)
            loss, to_queries, to_passages = contrast(left.unit, right.unit, alike, recipe.temperature)
            ahead = THREADS.submit(left.backward, to_queries)
            right_rows, right_weights = right.backward(to_passages)
            left_rows, left_weights = ahead.result()
            touched, place = distinct(np.concatenate([left.tokens, right.tokens]), len(model.table))
            gradient = np.zeros((len(touched), model.table.shape[1]), np.float32)
            gradient[place[: len(left.tokens)]] = left_rows
            gradient[place[len(left.tokens) :]] += right_rows
            count += 1
            pace = min(1, count / recipe.warm_up) * max(0.02, 1 - (count - 1) / total)
            table.step(touched, gradient, recipe.table_rate * pace, count)
            query.step(left.tokens, left_weights, recipe.weight_rate * pace, count)
            passage.step(right.tokens, right_weights, recipe.weight_rate * pace, count)
            losses.append(loss)
        print(f"epoch {number}: loss {np.mean(losses):.4f}, {count} steps, {time.time() - started:.0f} s", flush=True)
        report(number, float(np.mean(losses)))
