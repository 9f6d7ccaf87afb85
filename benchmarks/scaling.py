#!/usr/bin/env python3
"""scaling.py SURETY OUTPUT: seconds a step of `mpirun -n R surety train` on 1 and 2 ranks, a model of the time on many, and the memory of one
process with a CSV file and with a record file of 8 GB, as a page. Takes 17 GB in the folder of temporary files, and half an hour.

A step is what a run of many steps takes longer than one of few, so that starting, reading and writing are not in it. Rows of ranks and
repetitions take turns, since the machine may have other work; each figure is the least of its repetitions."""
import math
import os
import random
import resource
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
WIDE = 100  # features of the data that memory is measured on
COPIES = 100  # of its records, in the record file
MOST_MEMORY = 2_000_000_000  # of addresses, for the record file


def make(path, features):
    draw = random.Random(1)
    with open(path, "w") as file:
        file.write(",".join([f"x{j}" for j in range(features)] + ["label"]) + "\n")
        for _ in range(RECORDS):
            row = [draw.uniform(-1, 1) for _ in range(features)]
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


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def measured(words, **around):
    """Seconds, processor seconds, and the peaks of resident and of anonymous memory in bytes."""
    begin = time.monotonic()
    process = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, **around)
    anonymous = 0
    while True:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
            anonymous = max([anonymous] + [1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")])
        except OSError:
            pass
        done, code, used = os.wait4(process.pid, os.WNOHANG)
        if done:
            if code:
                raise SystemExit(f"scaling.py: {words} ended with {code}")
            return time.monotonic() - begin, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss, anonymous
        time.sleep(0.02)


def memory(surety, folder):
    """Rows of two tables."""
    data, records = folder / "wide.csv", folder / "wide.records"
    make(data, WIDE)
    mapped = [word for j in range(WIDE) for word in ("--bounds", f"x{j}=-1,1")] + ["--label", "label>0"]

    def train(words, **around):
        for old in folder.glob("run.*"):
            old.unlink()
        return measured([surety, "train"] + words + ["--epsilon", 1, "--delta", 1e-8, "--ledger", folder / "run.db", "--model",
                                                     folder / "run.json"], **around)  # fmt: skip

    small = folder / "small.csv"
    small.write_text("x0,label\n1,1\n0,0\n1,0\n0,1\n0,0\n")
    base = train([small, "--label", "label>0", "--algorithm", "constant"])[2]
    numbers = 8 * RECORDS * (WIDE + 1)
    in_memory = ""
    for algorithm in ALGORITHMS:
        taken = train([data] + mapped + ["--algorithm", algorithm, "--steps", 30])
        in_memory += f"| `{algorithm}` | {taken[2] / 1e6:.0f} | {(taken[2] - base) / numbers:.2f} | {taken[0]:.1f} |\n"

    lines = f"{{ cat '{data}'; for i in $(seq {COPIES - 1}); do tail -n +2 '{data}'; done; }}"
    feed = subprocess.Popen(["bash", "-c", lines], stdout=subprocess.PIPE)
    taken = measured([surety, "convert", "-", records] + mapped, stdin=feed.stdout, preexec_fn=limited)
    in_file = f"| `surety convert` | {taken[0]:.0f} | {taken[1]:.0f} | {taken[3] / 1e6:.0f} |\n"
    rows = [("shaped-descent", ["--steps", 30]), ("gradient-descent", ["--steps", 30]),
            ("dp-sgd", ["--records", RECORDS * COPIES, "--batch-size", 4000, "--epochs", 1]),
            ("sufficient-statistics", ["--loss", "squared", "--label-bound", 1])]  # fmt: skip
    for algorithm, words in rows:
        taken = train([records, "--format", "records", "--algorithm", algorithm] + words, preexec_fn=limited)
        in_file += f"| `{algorithm}` | {taken[0]:.0f} | {taken[1]:.0f} | {taken[3] / 1e6:.0f} |\n"
    return base, numbers, in_memory, records.stat().st_size, in_file


def main():
    surety, output = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    os.environ.update({name: os.environ.get(name, value) for name, value in environment.items()})
    least = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "data.csv"
        make(data, FEATURES)
        for _ in range(REPETITIONS):
            for algorithm in ALGORITHMS:
                for ranks in RANKS:
                    for steps in (FEW, MANY):
                        key = algorithm, ranks, steps
                        least[key] = min(least.get(key, math.inf), seconds(surety, folder, data, algorithm, ranks, steps))
        base, numbers, in_memory, file_size, in_file = memory(surety, folder)
    step = {(a, r): (least[a, r, MANY] - least[a, r, FEW]) / (MANY - FEW) for a in ALGORITHMS for r in RANKS}
    words = FEATURES + 1
    text = f"""# Many records: time, messages and memory

Made by

    benchmarks/scaling.py build/release/cli/surety docs/results/scaling.md

{RECORDS:,} records of {FEATURES} features and the constant in one CSV file that every rank reads; a rank is one thread, {os.cpu_count()} processors.
A step is the difference of runs of {MANY} and {FEW} steps over {MANY - FEW}, each the least of {REPETITIONS}. *Whole* is a run of {MANY} steps with reading and writing.

| algorithm | ranks | ms a step | speed-up | ns a number | whole, s |
|---|---|---|---|---|---|
"""
    for algorithm in ALGORITHMS:
        for ranks in RANKS:
            own = step[algorithm, ranks]
            text += (f"| `{algorithm}` | {ranks} | {1000 * own:.2f} | {step[algorithm, 1] / own:.2f} | "
                     f"{1e9 * own * ranks / (RECORDS * words):.2f} | {least[algorithm, ranks, MANY]:.2f} |\n")
    text += f"""
*Whole* gains less, since every rank reads the whole file, unless each has its own (`{{rank}}` in the name).

## Bytes a step

8 (2 d + 9) bytes for each rank after the first (`jobs/algorithms/rank_doors.cpp`), whatever the number of records: {8 * (2 * words + 9)} for the {words} numbers here. `shaped-descent` has one more release, of d^2 numbers.

## Memory of one process

{RECORDS:,} records of {WIDE} features and the constant in a CSV file ({numbers / 1e6:.0f} MB of numbers), 30 steps.
*Over numbers*: peak resident memory minus the {base / 1e6:.0f} MB of a run on five records, over the numbers.

| algorithm | peak, MB | over numbers | s |
|---|---|---|---|
{in_memory}
The same records {COPIES} times, {RECORDS * COPIES:,} in all, in a record file of {file_size / 1e9:.1f} GB, under a limit of {MOST_MEMORY / 1e9:.0f} GB on the address space (RLIMIT_AS).
*Anonymous*: the peak of the process's own memory.

| run | s | processor s | anonymous, MB |
|---|---|---|---|
{in_file}
"""
    output.write_text(text)


if __name__ == "__main__":
    main()
