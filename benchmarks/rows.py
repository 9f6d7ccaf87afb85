"""How many rows a second `surety release` reads, and how much memory it takes, beside `wc -l`: rows come through a pipe, so that no disk is measured.
(Owners of several rows: scripts/units.)

Run by hand after scripts/quickstart, which builds the command: python3 benchmarks/rows.py [--rows 100000000] [build/release/cli/surety]
>docs/results/rows.md makes that page, in some five minutes. Processor seconds of the command alone."""

import argparse
import datetime
import os
import subprocess
import tempfile

BLOCK = 100_000


def rows_without_owners(rows):
    """owner,age,visits; the same block again and again: what a row costs does not depend on the others."""
    block = "".join(f"{k % 977},{k * 7919 % 90 + 0.5},{k * 104729 % 53}\n" for k in range(BLOCK)).encode()
    for first in range(0, rows, BLOCK):
        yield block if rows - first >= BLOCK else b"".join(block.splitlines(keepends=True)[: rows - first])


def measured(words, blocks):
    """Processor seconds and largest memory in MB of a command that reads the blocks."""
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=output)
        child.stdin.write(b"owner,age,visits\n")
        for block in blocks:
            child.stdin.write(block)
        child.stdin.close()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise SystemExit(f"rows: {' '.join(words)} ended with {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("surety", nargs="?", default="build/release/cli/surety")
    parser.add_argument("--rows", type=int, default=100_000_000)
    given = parser.parse_args()

    with open("/proc/cpuinfo") as lines:
        processor = next((line.split(": ")[1].strip() for line in lines if line.startswith("model name")), "an unknown processor")
    print("# Rows of a CSV pipe: rate and memory\n")
    print(f"Made by `benchmarks/rows.py` on {datetime.date.today()}: {processor}, {os.cpu_count()} processors; load at the start {os.getloadavg()[0]:.1f}.")
    print("Rows of three columns come through a pipe; processor seconds and peak memory of the command alone.\n")
    print("| query | rows | processor seconds | rows a second | memory, MB |")
    print("|---|---|---|---|---|", flush=True)

    private = ["--epsilon", "1", "--delta", "1e-6", "--adjacency", "add-or-remove-one"]

    def report(name, words, rows, blocks):
        seconds, memory = measured(words, blocks)
        print(f"| {name} | {rows:,} | {seconds:.1f} | {rows / seconds:,.0f} | {memory:.0f} |", flush=True)

    def release(words):
        folder = tempfile.mkdtemp()
        return [given.surety, "release", "-", "--ledger", os.path.join(folder, "ledger.db"), *private, *words]

    mean = ["--query", "mean(age)", "--bounds", "0,100"]
    report("`wc -l`", ["wc", "-l"], given.rows, rows_without_owners(given.rows))
    for name, words in [
        ("`count()`", ["--query", "count()"]),
        ("`count()` where age>40 and visits<=10", ["--query", "count()", "--where", "age>40 and visits<=10"]),
        ("`mean(age)`", mean),
        ("`median(age)`", ["--query", "median(age)", "--bounds", "0,100"]),
        ("`histogram(visits)`, 50 bins", ["--query", "histogram(visits)", "--bounds", "0,50", "--bins", "50"]),
        (
            "`mean(age)`, `median(age)`, `histogram(visits)` and `count()` where age>40, in one charge",
            [*mean, "--query", "median(age)", "--query", "histogram(visits)", "--query", "count() where age>40", "--bins", "50"],
        ),
    ]:
        report(name, release(words), given.rows, rows_without_owners(given.rows))


if __name__ == "__main__":
    main()
