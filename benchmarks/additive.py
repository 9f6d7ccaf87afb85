"""Processor time and memory of a training with additive terms, beside an earlier command and beside linear terms, for docs/results/additive.md.

Run by hand, never in CI: benchmarks/additive.py EARLIER LATER ROWS
EARLIER and LATER are two builds of the command, of one preset. It needs Python 3.11; the table is made here, 20 columns and a label, in a temporary folder.
Each run is made three times, the commands in turn; the least processor time and the largest memory are printed. Both commands replay one seed, so their models
must be the same file."""

import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

COLUMNS = 20
RUNS = 3
COMMON = ["--epsilon", "1", "--delta", "1e-5", "--replay-seed", "7", "--overwrite"]
BOUNDS = [option for k in range(COLUMNS) for option in ("--bounds", f"c{k}=-{3 * (k + 1)},{3 * (k + 1)}")]
DESCENT = ["--algorithm", "shaped-descent", "--steps", "30"]
# The file and the options of each.
WORKLOADS = {
    "additive terms, private ranges (the default)": ("table.csv", ["--label", "y>0"]),
    "additive terms, rows stay in a record file": ("table.records", ["--format", "records", *DESCENT]),
    "linear terms (reference)": ("table.csv", ["--label", "y>0", *DESCENT, "--terms", "linear", "--ranges", "asinh"]),
}


def make_table(path: pathlib.Path, rows: int) -> None:
    generator = random.Random(1)
    with path.open("w") as file:
        file.write(",".join([*(f"c{k}" for k in range(COLUMNS)), "y"]) + "\n")
        for _ in range(rows):
            cells = [generator.gauss(0, k + 1) for k in range(COLUMNS)]
            score = math.tanh(cells[0]) + cells[1] / 2 - (abs(cells[4]) > 5)
            label = generator.random() < 1 / (1 + math.exp(-score))
            file.write(",".join(f"{cell:.4f}" for cell in cells) + f",{int(label)}\n")


def measured(command: str, folder: pathlib.Path, table: str, options: list[str], model: str) -> tuple[float, float, bytes]:
    """Processor seconds, peak megabytes, and the model."""
    ledger = folder / "run.db"
    ledger.unlink(missing_ok=True)
    words = [command, "train", str(folder / table), *COMMON, *options, "--ledger", str(ledger), "--model", str(folder / model)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"failed: {' '.join(words)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, (folder / model).read_bytes()


def main() -> None:
    earlier, later, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
    print("# Training with additive terms: processor time and memory\n")
    print(f"{rows:,} rows of {COLUMNS} columns. Least processor seconds and largest resident memory of {RUNS} runs, the commands in turn.")
    print("Both commands write the same model from one seed, byte for byte.\n")
    print("| workload | before, s | after, s | before, MB | after, MB |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_table(folder / "table.csv", rows)
        records = [later, "convert", str(folder / "table.csv"), str(folder / "table.records"), "--label", "y>0", "--terms", "additive", *BOUNDS]
        subprocess.run(records, check=True, stdout=subprocess.DEVNULL)
        for workload, (table, options) in WORKLOADS.items():
            found: list[list[tuple[float, float, bytes]]] = [[], []]
            for _ in range(RUNS):
                for which, command in enumerate((earlier, later)):
                    found[which].append(measured(command, folder, table, options, f"model{which}.json"))
            if {run[2] for run in found[0]} != {run[2] for run in found[1]}:
                raise SystemExit(f"the models of '{workload}' differ")
            seconds = [min(run[0] for run in runs) for runs in found]
            megabytes = [max(run[1] for run in runs) for runs in found]
            print(f"| {workload} | {seconds[0]:.2f} | {seconds[1]:.2f} | {megabytes[0]:.0f} | {megabytes[1]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
