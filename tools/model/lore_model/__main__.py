"""The steps of the pipeline; `build.py` runs this inside its own environment."""

from __future__ import annotations

import argparse
import json
import random
import sys
import unittest
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from . import bench, collect, evaluate, examples, export, manifest, reference
from .pin import pin
from .teacher import Teacher, initial_table
from .tokens import Bags, Tokenizer, corpus_vocabulary, pruned_pieces
from .train import Model, Recipe, initial_weights, softplus, train

HERE = Path(__file__).resolve().parent.parent
OUTPUT = HERE.parent.parent / "crates" / "lore-embed" / "model"
NAME = "lore-static-2"
ROWS, PIECES = 36_000, 12_000  # Of the vocabulary: all rows, and those of pieces that are no words.
# What a token of the first line counts, where the names are: in training, and in the table. Trained with the larger one
# and used with the smaller one, questions of people gain and sentences of documentation lose little.
TRAINING_LEAD, LEAD = 1.7, 1.3
ECOSYSTEMS = ["crates", "debian", "npm", "pypi"]


def main() -> None:
    options = arguments()
    options.cache.mkdir(parents=True, exist_ok=True)
    if options.step == "pin":
        pin(HERE / "seeds.toml", HERE / "packages.jsonl", options.cache, set(options.only))
    elif options.step == "bench":
        bench.build(options.checkouts, options.out)
    elif options.step == "evaluate":
        measure(options)
    elif options.step == "test":
        tests = unittest.defaultTestLoader.discover(str(HERE / "tests"), top_level_dir=str(HERE))
        sys.exit(not unittest.TextTestRunner().run(tests).wasSuccessful())
    else:
        steps = ["collect", "distil", "train", "export"] if options.step == "all" else [options.step]
        for step in steps:
            {"collect": collect_step, "distil": distil_step, "train": train_step, "export": export_step}[step](options)


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="build.py", description="Makes the embedding table of lore-embed.")
    parser.add_argument("--cache", type=Path, default=HERE / "cache", help="downloads, pairs and trained weights")
    steps = parser.add_subparsers(dest="step")
    for name in ("all", "collect", "distil", "train", "export"):
        step = steps.add_parser(name)
        step.add_argument("--out", type=Path, default=OUTPUT, help="folder of static.bin and reference.json")
        step.add_argument(
            "--keep-out", type=Path, nargs="*", default=[], help="JSON lines whose `code` must not be trained on"
        )
        step.add_argument("--workers", type=int, default=2)
        step.add_argument("--trim", action="store_true", help="drop packages without pairs from packages.jsonl")
    step = steps.add_parser("pin", help="resolve seeds.toml to exact releases again")
    step.add_argument("--only", nargs="+", default=ECOSYSTEMS, choices=ECOSYSTEMS)
    step = steps.add_parser("bench", help="make a benchmark from checked-out repositories")
    step.add_argument("out", type=Path)
    step.add_argument("checkouts", type=Path, nargs="+")
    steps.add_parser("test", help="run the unit tests")
    step = steps.add_parser("evaluate", help="measure a table")
    step.add_argument("--table", type=Path, default=OUTPUT / "static.bin")
    step.add_argument("--bench", type=Path, help="folder made by the bench step")
    step.add_argument("--questions", type=Path, nargs=2, metavar=("QUERIES", "FUNCTIONS"))
    options = parser.parse_args()
    if options.step is None:
        options = parser.parse_args(["--cache", str(options.cache), "all"])
    return options


def collect_step(options: argparse.Namespace) -> None:
    """From the manifest to pairs.jsonl."""
    kept_out = []
    for path in options.keep_out:
        for row in evaluate.rows(path):
            # A docstring is cut off before training, so a function is compared with and without it.
            kept_out += [row["code"]] + [found.code for found in collect.code.definitions("x.py", row["code"].encode())]
    packages = manifest.read(HERE / "packages.jsonl")
    counts = collect.collect(packages, options.cache, options.cache / "pairs.jsonl", kept_out, options.workers)
    print("pairs:", dict(counts.most_common()))
    giving = {pair.package for pair in collect.read(options.cache / "pairs.jsonl")}
    idle = [package.label for package in packages if package.label not in giving]
    print(f"{len(idle)} packages gave no pair")
    if options.trim:
        manifest.write(HERE / "packages.jsonl", [package for package in packages if package.label in giving])


def distil_step(options: argparse.Namespace) -> None:
    """From the words of the pairs to a vocabulary, and from the transformer to one vector for each of its tokens."""
    pairs = collect.read(options.cache / "pairs.jsonl")
    spread = collect.spread(pair for pair in pairs if not collect.is_held_out(pair.package))
    teacher = Teacher(options.cache)
    vocabulary = corpus_vocabulary(spread, pruned_pieces(teacher.vocabulary), ROWS, PIECES)
    (options.cache / "vocabulary.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    np.save(options.cache / "distilled.npy", initial_table(teacher.token_vectors(vocabulary)))
    print(f"distilled {len(vocabulary)} tokens of {len(spread)} words", flush=True)


def train_step(options: argparse.Namespace) -> None:
    """From pairs and distilled vectors to trained.npz."""
    tokenizer = Tokenizer(json.loads((options.cache / "vocabulary.json").read_text(encoding="utf-8")), TRAINING_LEAD)
    held_out: list[collect.Pair] = []

    def training() -> Iterator[collect.Pair]:
        for pair in collect.read(options.cache / "pairs.jsonl"):
            if collect.is_held_out(pair.package):
                held_out.append(pair)
            else:
                yield pair

    queries, passages = Bags(tokenizer), Bags(tokenizer)
    groups, packages = [], []
    for example in examples.examples(training(), random.Random(0)):
        queries.add(example.query)
        passages.add(example.passage)
        groups.append(example.group)
        packages.append(example.package)
    query_bags, passage_bags = queries.finish(), passages.finish()
    print("training examples:", len(groups), dict(Counter(groups).most_common()), flush=True)
    weights = initial_weights(passage_bags)
    model = Model(np.load(options.cache / "distilled.npy"), weights, weights.copy())
    benches = evaluate.from_pairs(held_out)

    def report(epoch: int, loss: float) -> None:
        for form, by_language in benches.items():
            scores = {name: evaluate.model_figures(model, tokenizer, bench) for name, bench in by_language.items()}
            values = {name: figures["MRR@10"] for name, figures in scores.items()}
            text = "  ".join(f"{name} {value:.3f}" for name, value in values.items())
            print(f"  epoch {epoch}, {form}: {text}  mean {np.mean(list(values.values())):.4f}", flush=True)

    print("held-out queries:", {name: len(bench.queries) for name, bench in benches["code alone"].items()})
    report(0, 0.0)
    train(model, query_bags, passage_bags, groups, packages, Recipe(), report)
    trained = {"table": model.table, "passage": softplus(model.passage), "query": softplus(model.query)}
    np.savez(options.cache / "trained.npz", **trained)


def export_step(options: argparse.Namespace) -> None:
    """From trained.npz to static.bin and reference.json."""
    vocabulary = json.loads((options.cache / "vocabulary.json").read_text(encoding="utf-8"))
    trained = np.load(options.cache / "trained.npz")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "static.bin"
    export.write(path, export.quantised(NAME, LEAD, trained["table"], trained["passage"], trained["query"], vocabulary))
    table = export.read(path)
    reference.write(options.out / "reference.json", table)
    print(f"{path}: {len(table.vocabulary)} rows, {path.stat().st_size} bytes")


def measure(options: argparse.Namespace) -> None:
    """Prints figures of an exported table."""
    table = export.read(options.table)
    if options.bench:
        for names in (False, True):
            print("with names and containers" if names else "code alone")
            evaluate.report(table, evaluate.from_folder(options.bench, names))
    if options.questions:
        evaluate.report(table, evaluate.from_questions(*options.questions))


if __name__ == "__main__":
    main()
