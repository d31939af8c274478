#!/usr/bin/env python3
"""Makes `crates/lore-embed/model/static.bin` from registry packages. Needs Python 3.11 or newer and a network.

Creates a virtual environment in the cache folder on the first run; all other work is in `lore_model`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = Path(os.environ.get("LORE_MODEL_VENV", HERE / "cache" / "venv"))


def main() -> int:
    python = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = (HERE / "requirements.txt").read_text(encoding="utf-8")
    stamp = ENVIRONMENT / "installed.txt"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        venv.create(ENVIRONMENT, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    return subprocess.run([python, "-m", "lore_model", *sys.argv[1:]], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
