"""Drives semble for `cargo xtask bench`.

    semble.py probe             says whether its model can be loaded without a network
    semble.py index PATH        builds the index and saves it
    semble.py one PATH QUERY    what `semble search` does, from start to end
    semble.py ask PATH FILE     loads once and times every line of the file
    semble.py results PATH FILE CONTENT  loads once and tells ten results of every line; CONTENT is `code`, as it
                                does by default, or `all`

Where its model cannot be loaded, WITHOUT_MODEL=1 puts one in its place that costs nothing and says nothing, and searches
with `alpha=0.0`: BM25 and the reranking decide. What is measured then is less work than semble does.
"""

import json
import os
import sys
import time

# As semble's own command line does.
os.environ.setdefault("SEMBLE_INDEX_WORKERS", "4")

WITHOUT_MODEL = os.environ.get("WITHOUT_MODEL") == "1"


def load():
    import semble.index.index as index

    if WITHOUT_MODEL:
        import numpy as np

        class Nothing:
            dim = 256

            def encode(self, texts, **_):
                vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
                vectors[:, 0] = 1.0
                return vectors

        name = os.environ["SEMBLE_MODEL_NAME"]
        index.load_model = lambda path=None: (Nothing(), path or name)
    return index.SembleIndex


def search(index, query):
    return index.search(query, top_k=10, alpha=0.0) if WITHOUT_MODEL else index.search(query, top_k=10)


def main():
    command, rest = sys.argv[1], sys.argv[2:]
    if command == "probe":
        from semble.index.dense import load_model

        print(json.dumps({"model": load_model()[1]}))
        return
    SembleIndex = load()
    from semble.types import ContentType

    # Documents and configuration too, as Lore takes them; its own default is code alone.
    content = (ContentType.CODE, ContentType.DOCS, ContentType.CONFIG)
    if command == "results" and rest[2] == "code":
        content = (ContentType.CODE,)
    index = SembleIndex.from_path(rest[0], content=content)
    if command in ("index", "one"):
        from semble.cache import save_index_to_cache

        found = search(index, rest[1]) if command == "one" else []
        # It is saved where it was built anew, as the command line does.
        save_index_to_cache(index, rest[0])
        stats = index.stats
        paths = [result.chunk.file_path for result in found]
        print(json.dumps({"files": stats.indexed_files, "chunks": stats.total_chunks, "paths": paths}))
    elif command == "ask":
        with open(rest[1], encoding="utf-8") as file:
            queries = [line.rstrip("\n") for line in file]
        search(index, queries[0])
        times = []
        for query in queries:
            started = time.perf_counter()
            search(index, query)
            times.append(int((time.perf_counter() - started) * 1e6))
        print(json.dumps({"times_us": times}))
    elif command == "results":
        with open(rest[1], encoding="utf-8") as file:
            queries = [line.rstrip("\n") for line in file]
        answers = []
        for query in queries:
            chunks = [result.chunk for result in search(index, query)]
            answers.append([{"path": chunk.file_path, "lines": [chunk.start_line, chunk.end_line]} for chunk in chunks])
        print(json.dumps({"answers": answers}))


if __name__ == "__main__":
    main()
