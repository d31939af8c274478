"""The steps of the pipeline; `build.py` runs this inside its own environment."""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np

from . import bench, collect, evaluate, export, manifest, reference
from .pin import pin
from .teacher import Teacher, initial_table
from .tokens import Tokenizer, pruned_vocabulary
from .train import Model, Recipe, initial_weights, softplus, train

HERE = Path(__file__).resolve().parent.parent
OUTPUT = HERE.parent.parent / "crates" / "lore-embed" / "model"
NAME = "lore-static-1"
MOST = 130_000  # Training pairs of one language.
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
    """From the transformer to one vector for each kept token."""
    teacher = Teacher(options.cache)
    vocabulary, rows = pruned_vocabulary(teacher.vocabulary)
    (options.cache / "vocabulary.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    np.save(options.cache / "distilled.npy", initial_table(teacher.token_vectors(rows)))
    print(f"distilled {len(vocabulary)} tokens")


def train_step(options: argparse.Namespace) -> None:
    """From pairs and distilled vectors to trained.npz."""
    tokenizer = Tokenizer(json.loads((options.cache / "vocabulary.json").read_text(encoding="utf-8")))
    pairs = collect.read(options.cache / "pairs.jsonl")
    held_out = evaluate.from_pairs([pair for pair in pairs if collect.is_held_out(pair.package)])
    pairs = balanced([pair for pair in pairs if not collect.is_held_out(pair.package)])
    print("training pairs:", len(pairs), dict(Counter(pair.language for pair in pairs).most_common()))
    queries = tokenizer.bags(pair.query for pair in pairs)
    passages = tokenizer.bags(pair.text for pair in pairs)
    weights = initial_weights(passages)
    model = Model(np.load(options.cache / "distilled.npy"), weights, weights.copy())

    def report(epoch: int, loss: float) -> None:
        scores = {name: evaluate.model_figures(model, tokenizer, bench)["MRR@10"] for name, bench in held_out.items()}
        text = "  ".join(f"{name} {score:.3f}" for name, score in scores.items())
        print(f"  held-out MRR@10 after epoch {epoch}: {text}  mean {np.mean(list(scores.values())):.4f}", flush=True)

    print("held-out queries:", {name: len(bench.queries) for name, bench in held_out.items()})
    report(0, 0.0)
    languages, packages = [pair.language for pair in pairs], [pair.package for pair in pairs]
    train(model, queries, passages, languages, packages, Recipe(), report)
    trained = {"table": model.table, "passage": softplus(model.passage), "query": softplus(model.query)}
    np.savez(options.cache / "trained.npz", **trained)


def balanced(pairs: list[collect.Pair]) -> list[collect.Pair]:
    """A fixed random choice where a language has more pairs than `MOST`."""
    order = random.Random(0)
    grouped: dict[str, list[collect.Pair]] = {}
    for pair in pairs:
        grouped.setdefault(pair.language, []).append(pair)
    return [pair for members in grouped.values() for pair in order.sample(members, min(MOST, len(members)))]


def export_step(options: argparse.Namespace) -> None:
    """From trained.npz to static.bin and reference.json."""
    vocabulary = json.loads((options.cache / "vocabulary.json").read_text(encoding="utf-8"))
    trained = np.load(options.cache / "trained.npz")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "static.bin"
    export.write(path, export.quantised(NAME, trained["table"], trained["passage"], trained["query"], vocabulary))
    table = export.read(path)
    reference.write(options.out / "reference.json", table)
    print(f"{path}: {len(table.vocabulary)} rows, {path.stat().st_size} bytes")


def measure(options: argparse.Namespace) -> None:
    """Prints figures of an exported table."""
    table = export.read(options.table)
    if options.bench:
        evaluate.report(table, evaluate.from_folder(options.bench))
    if options.questions:
        evaluate.report(table, evaluate.from_questions(*options.questions))


if __name__ == "__main__":
    main()
