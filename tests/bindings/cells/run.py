"""Compares PAIRS pairs of tables (default 5000), drawn from SEED (default one of its own, which it prints), prints what came of them, and ends with 1 where one
differs or a rewritten cell is not listed: scripts/cell-pairs."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import cell_pairs
import frame_doors


def main() -> int:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int.from_bytes(os.urandom(4))
    print(f"{pairs} pairs with seed {seed}", flush=True)
    begin = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        doors = cell_pairs.own_doors(Path(folder)) + frame_doors.doors_of_frames(Path(folder))
        found = cell_pairs.compare_pairs(pairs, seed, doors, frame_doors.estimator_question)
    print(*found.lines(), sep="\n")
    print(f"{time.process_time() - begin:.0f} processor seconds")
    return 1 if found.differences or found.unlisted() else 0


if __name__ == "__main__":
    sys.exit(main())
