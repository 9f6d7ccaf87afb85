"""Rows a second of surety_columns beside the aggregates of pandas, polars and DuckDB over the same columns, in one run, as the page of docs/results.

Run by hand, never in CI: python3 benchmarks/columns.py build/release/benchmarks/surety_columns 20000000 >docs/results/columns.md
It needs Python 3.11 with venv, and pip to reach its registry: it makes an environment beside the temporary files, with the versions below, and deletes it.
Memory: 16 bytes a row, and what each library takes. Everything is on one thread, in processor seconds."""

import datetime
import os
import re
import subprocess
import sys
import tempfile
import time

VERSIONS = ["numpy==2.2.6", "pandas==2.2.3", "polars==1.30.0", "duckdb==1.3.0", "pyarrow==20.0.0"]
OWNERS = "sum, int64 owners of ten rows, K = 3"


def rates(rows):
    """Prints what | library | million rows a second, for each query and library."""
    import duckdb
    import numpy as np
    import pandas
    import polars
    import pyarrow

    random = np.random.default_rng(1)
    x = random.integers(0, 2**24, rows) / 65536
    who = random.integers(0, max(1, rows // 10), rows)
    frame = pandas.DataFrame({"x": x, "who": who}, copy=False)
    table = polars.DataFrame({"x": x, "who": who})
    arrow = pyarrow.table({"x": x, "who": who})
    base = duckdb.connect()
    base.execute("SET threads = 1")
    base.register("arrow", arrow)
    clipped = polars.col("x").clip(0, 256)
    edges = np.linspace(0, 256, 21)
    in_sql = "least(greatest(x, 0), 256)"
    queries = {
        "sum": [
            lambda: frame.x.clip(0, 256).sum(),
            lambda: table.select(clipped.sum()),
            lambda: base.execute(f"SELECT sum({in_sql}) FROM arrow").fetchall(),
        ],
        "mean": [
            lambda: frame.x.clip(0, 256).mean(),
            lambda: table.select(clipped.mean()),
            lambda: base.execute(f"SELECT avg({in_sql}) FROM arrow").fetchall(),
        ],
        "count, sum and mean in one pass": [
            lambda: frame.x.clip(0, 256).agg(["count", "sum", "mean"]),
            lambda: table.select(clipped.len().alias("n"), clipped.sum().alias("s"), clipped.mean().alias("m")),
            lambda: base.execute(f"SELECT count(*), sum({in_sql}), avg({in_sql}) FROM arrow").fetchall(),
        ],
        "histogram of 20 equal bins": [
            lambda: pandas.cut(frame.x, edges, labels=False, include_lowest=True).value_counts(),
            lambda: table["x"].hist(bins=list(edges)),
            lambda: base.execute("SELECT least(floor(x / 12.8), 19), count(*) FROM arrow GROUP BY 1").fetchall(),
        ],
        OWNERS: [
            lambda: frame.groupby("who").head(3).x.sum(),
            lambda: table.group_by("who").agg(polars.col("x").head(3).sum()).select(polars.col("x").sum()),
            lambda: base.execute(
                "SELECT sum(x) FROM (SELECT x, row_number() OVER (PARTITION BY who ORDER BY hash(x)) AS place FROM arrow) WHERE place <= 3"
            ).fetchall(),
        ],
    }
    for what, calls in queries.items():
        for library, call in zip(["pandas", "polars", "DuckDB"], calls):
            start = time.process_time()
            call()
            print(what, library, rows / max(1e-6, time.process_time() - start) / 1e6, sep="|", flush=True)


def main():
    program, rows = sys.argv[1], int(sys.argv[2])
    printed = subprocess.run([program, str(rows)], check=True, capture_output=True, text=True).stdout
    own = re.findall(r"^(.*?) +([\d.]+) M rows/s(?:.*?([\d.]+) bytes a row)?", printed, re.M)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = os.path.join(folder, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", *VERSIONS], check=True, stdout=sys.stderr)
        one_thread = {**os.environ, "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
        others = subprocess.run([python, __file__, "rates", str(rows)], check=True, capture_output=True, text=True, env=one_thread).stdout
    theirs = {tuple(line.split("|")[:2]): float(line.split("|")[2]) for line in others.splitlines()}
    load = os.getloadavg()[0]
    print("# Columns of an Arrow stream: rows a second\n")
    print(f"Made by `python3 benchmarks/columns.py {program} {rows} >docs/results/columns.md` on {datetime.date.today()},")
    print(f"with {', '.join(VERSIONS)}; load {load:.0f} of other programs and this one on {os.cpu_count()} processors.")
    print("One batch of float64 `x` from 0 to 256 and int64 `who` with ten rows an owner on average. Millions of rows a second, one thread, processor time.\n")
    print("| query | Surety | its bytes a row | pandas | polars | DuckDB |\n|---|---|---|---|---|---|")
    for what, rate, memory in own:
        cells = [f"{theirs[what, library]:.1f}" if (what, library) in theirs else "" for library in ["pandas", "polars", "DuckDB"]]
        shown = "no row is read" if what == "count" else rate
        print(f"| {what} | {shown} | {memory} | {' | '.join(cells)} |")
    print(
        "\nSurety adds exact integers and chooses each owner's three rows by a keyed hash.\n"
        "The others add floating-point numbers; pandas and polars take the first three rows, DuckDB the least three hashes. Bytes exclude the columns."
    )


if __name__ == "__main__":
    rates(int(sys.argv[2])) if sys.argv[1] == "rates" else main()
