#!/usr/bin/env python3
"""scaling.py SURETY OUTPUT: seconds a step of `mpirun -n R surety train` on 1 and 2 ranks, and a model of the time on many, as a page.

A step is what a run of many steps takes longer than one of few, so that starting, reading and writing are not in it. Rows of ranks and
repetitions take turns, since the machine may have other work; each figure is the least of its repetitions."""
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RECORDS, FEATURES = 100_000, 50
FEW, MANY = 10, 110
REPETITIONS = 3
RANKS = (1, 2)
ALGORITHMS = ("gradient-descent", "shaped-descent")


def make(path):
    draw = random.Random(1)
    with open(path, "w") as file:
        file.write(",".join([f"x{j}" for j in range(FEATURES)] + ["label"]) + "\n")
        for _ in range(RECORDS):
            row = [draw.uniform(-1, 1) for _ in range(FEATURES)]
            label = int(sum(row[:5]) + draw.gauss(0, 1) > 0)
            file.write(",".join([f"{x:.4f}" for x in row] + [str(label)]) + "\n")


def seconds(surety, folder, data, algorithm, ranks, steps):
    for old in folder.glob("run.*"):
        old.unlink()
    words = [surety, "train", data, "--label", "label>0", "--algorithm", algorithm, "--steps", steps, "--threads", 1, "--held-out", 0,
             "--epsilon", 1, "--delta", 1e-5, "--ledger", folder / "run.db", "--model", folder / "run.json"]
    if ranks > 1:
        words = ["mpirun", "--quiet", "-n", ranks] + words
    begin = time.monotonic()
    subprocess.run(list(map(str, words)), check=True, capture_output=True)
    return time.monotonic() - begin


def main():
    surety, output = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    os.environ.update({name: os.environ.get(name, value) for name, value in environment.items()})
    least = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "data.csv"
        make(data)
        for _ in range(REPETITIONS):
            for algorithm in ALGORITHMS:
                for ranks in RANKS:
                    for steps in (FEW, MANY):
                        key = algorithm, ranks, steps
                        least[key] = min(least.get(key, math.inf), seconds(surety, folder, data, algorithm, ranks, steps))
    step = {(a, r): (least[a, r, MANY] - least[a, r, FEW]) / (MANY - FEW) for a in ALGORITHMS for r in RANKS}
    words = FEATURES + 1
    text = f"""# Several ranks: seconds and bytes a step

Made by

    benchmarks/scaling.py build/release/cli/surety docs/results/scaling.md

{RECORDS:,} records of {FEATURES} features and the constant in one CSV file that all ranks read, each rank one thread, {os.cpu_count()} processors in all.
A step is the difference of runs of {MANY} and {FEW} steps over {MANY - FEW}, each the least of {REPETITIONS}; *whole* is the run of {MANY} steps with starting, reading and writing.

| algorithm | ranks | ms a step | speed-up | ns a number | whole, s |
|---|---|---|---|---|---|
"""
    for algorithm in ALGORITHMS:
        for ranks in RANKS:
            own = step[algorithm, ranks]
            text += (f"| `{algorithm}` | {ranks} | {1000 * own:.2f} | {step[algorithm, 1] / own:.2f} | "
                     f"{1e9 * own * ranks / (RECORDS * words):.2f} | {least[algorithm, ranks, MANY]:.2f} |\n")
    number = step["gradient-descent", 1] / (RECORDS * words)
    d, rows, many = 101, 1e10, 1000
    compute = rows / many * d * number
    up, down = 8 * (d + 5), 8 * (d + 4)
    latency, bandwidth = 5e-6, 1.25e9
    network = (many - 1) * (2 * latency + (up + down) / bandwidth)
    text += f"""
*Whole* gains less than a step: every rank reads all of one file. With a file for each rank (`{{rank}}` in its name) each reads its own.

## Bytes a step

At each release every later rank sends the first one its sum, d numbers of 8 bytes behind 5 words, and gets what was released, d behind 4
(`cli/train/rank_doors.cpp`): 8 (2 d + 9) bytes for each later rank, whatever the number of records. For the {words} numbers here that is
{8 * (2 * words + 9)} bytes for a rank and step. The second moment of `shaped-descent` is one more release, of d^2 numbers.

## A model of 1,000 ranks and 10^10 rows

Not measured. A step takes the time of the longest share and of the first rank's messages, which it takes one after the other:

    t(R) = (n / R) d c + (R - 1) (2 l + 8 (2 d + 9) / b)

with c = {1e9 * number:.2f} ns a number from the first row above, n = 10^10 rows of d = {d}, a latency of l = 5 us and b = 1.25 GB/s (ten gigabits):
{compute:.2f} s of sums and {1000 * network:.1f} ms of messages at R = 1,000, so {100 * network / (compute + network):.1f} % are messages, and a run of 30 steps takes {30 * (compute + network):.0f} s behind the reading
of 8 GB by each rank. The messages would be as long as the sums at some {math.sqrt(rows * d * number / (2 * latency + (up + down) / bandwidth)):,.0f} ranks; a tree of sums, which are
integers and may be added anywhere, is what would carry it further.
"""
    output.write_text(text)


if __name__ == "__main__":
    main()
