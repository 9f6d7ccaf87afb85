"""The rank error of private quantiles, beside those of OpenDP and diffprivlib on the same data in one run. Add-or-remove-one, delta = 0.

Run by hand, in an environment with numpy, opendp and diffprivlib (docs/results/quantiles.md says which were used):
    python benchmarks/quantiles.py build/release/cli/surety examples/data/randhie.csv [RUNS] | scripts/result_page.py docs/results/quantiles.md
RUNS is 1000 where nothing is said, and of the others in the rows that the page does not show a tenth of it: a release takes OpenDP up to a tenth of a second.

A released number v has the rank error max(0, #{x < v} - q n, #{x > v} - (1 - q) n): 0 for every q-quantile, and else by how many records it
misses. Numbers within 10^-4 of the bounds' width count as equal in the second figure: what is nearer is a quantile for all that anybody sees.
The last column is by how many standard errors of the difference Surety's mean is above the smaller one of the others.
"""

import csv
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from importlib import metadata

import numpy as np

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "scripts"))
import result_page  # noqa: E402

warnings.simplefilter("ignore")
import diffprivlib.tools  # noqa: E402
import opendp.prelude as dp  # noqa: E402

dp.enable_features("contrib", "floating-point")


SHOWN = r"^(mdvis|10,000).*\| 0\.[59] \| 0\.1 \|"


def surety_quantiles(command, path, bounds, asked, epsilon, runs, folder):
    """So many releases of the fractions `asked`, each at `epsilon`: queries of one charge at delta = 0 have equal parts of its epsilon."""
    ledger = os.path.join(folder, "run.db")
    released = []
    for seed in range(0, runs, 250):
        several = min(250, runs - seed)
        query = {"query": f"quantile(x, {', '.join(map(str, asked))})", "bounds": list(bounds)}
        queries = os.path.join(folder, "queries.json")
        with open(queries, "w") as out:
            json.dump([query] * several, out)
        if os.path.exists(ledger):
            os.remove(ledger)
        said = subprocess.run(
            [command, "release", path, "--queries", queries, "--epsilon", str(epsilon * several), "--adjacency", "add-or-remove-one",
             "--ledger", ledger, "--replay-seed", str(seed + 1), "--json"],
            check=True, capture_output=True, text=True).stdout  # fmt: skip
        for one in json.loads(said)["queries"]:
            released.append([cell["value"] for cell in one["cells"]] if len(asked) > 1 else [one["value"]])
    return released


def candidates_of(bounds):
    """Those of Surety: some 2^14, whole numbers among them."""
    width = bounds[1] - bounds[0]
    cells = width * (2**14 // width) if width == int(width) and width <= 2**14 else 2**14
    return bounds[0] + width * np.arange(int(cells) + 1) / int(cells)


def opendp_quantiles(data, bounds, q, epsilon, runs):
    """So many releases. The scores are those of its transformation, once: every release has the same."""
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    score = dp.t.make_quantile_score_candidates(*space, candidates=[float(c) for c in candidates_of(bounds)], alpha=q)

    def made(scale):
        return score >> dp.m.then_noisy_max(dp.max_divergence(), scale=scale, negate=True)

    scale = dp.binary_search_param(made, d_in=1, d_out=epsilon, T=float)
    choose = dp.m.make_noisy_max(score.output_domain, score.output_metric, dp.max_divergence(), scale=scale, negate=True)
    scores = score(data)
    grid = candidates_of(bounds)
    return [grid[choose(scores)] for _ in range(runs)]


def rank_error(data, value, q, slack=0.0):
    n = len(data)
    below = np.searchsorted(data, value - slack, "left")
    above = n - np.searchsorted(data, value + slack, "right")
    return max(0.0, below - q * n, above - (1 - q) * n)


def above(own, *others):
    """By how many standard errors of their difference the mean of `own` is above the smallest one of the others."""
    best = min(others, key=np.mean)
    error = np.sqrt(np.var(own) / len(own) + np.var(best) / len(best))
    difference = np.mean(own) - np.mean(best)
    if error > 1e-9:
        return difference / error
    return np.copysign(np.inf, difference) if abs(difference) > 1e-9 else 0.0


def main():
    command, file = sys.argv[1:3]
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    rows = list(csv.DictReader(open(file)))
    draws = np.random.default_rng(1)
    sets = [
        ("mdvis of randhie, whole numbers", np.array([float(r["mdvis"]) for r in rows]), (0, 100)),
        ("lncoins of randhie, few numbers", np.array([float(r["lncoins"]) for r in rows]), (0, 5)),
        ("10,000 normal, deviation 15", np.clip(draws.normal(50, 15, 10000), 0, 100), (0, 100)),
        ("the same, rounded to whole numbers", None, (0, 100)),
        ("1,000 log-normal, bounds 60 times the median", np.clip(draws.lognormal(4, 1, 1000), 0, 3300), (0, 3300)),
    ]
    sets[3] = (sets[3][0], np.rint(sets[2][1]), sets[3][2])
    print("# Quantiles compared with OpenDP and diffprivlib\n")
    names = ", ".join(f"{p} {metadata.version(p)}" for p in ("opendp", "diffprivlib", "numpy", "scikit-learn"))
    print(f"Made by `benchmarks/quantiles.py` on {datetime.date.today()}: {names}. {runs} releases each ({runs // 10} of the other packages in some rows of the CSV file). Add-or-remove-one, delta = 0. OpenDP has the same candidates as Surety.")
    print("Mean (and 90 % quantile) of the rank error in records.")
    print("*Above*: Surety's mean minus the smaller mean of the others, in standard errors of the difference; -inf where Surety's is smaller and neither varies.\n")
    print(result_page.mark("quantiles", SHOWN, ["data", "q", "epsilon", "Surety", "OpenDP", "diffprivlib", "above"]))
    print("| data | q | epsilon | Surety | OpenDP | diffprivlib | above | Surety, 10^-4 | OpenDP, 10^-4 | diffprivlib, 10^-4 |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.csv")
        for name, data, bounds in sets:
            with open(path, "w") as out:
                out.write("x\n" + "".join(f"{v!r}\n" for v in data.tolist()))
            values = sorted(data.tolist())
            ordered = np.array(values)
            of_others = runs if re.match(SHOWN, name) else runs // 10
            for q in (0.5, 0.9):
                for epsilon in (0.1, 1.0):
                    released = [
                        [one for (one,) in surety_quantiles(command, path, bounds, [q], epsilon, runs, folder)],
                        opendp_quantiles(values, bounds, q, epsilon, of_others),
                        [diffprivlib.tools.quantile(data, q, epsilon=epsilon, bounds=bounds) for _ in range(of_others)],
                    ]
                    cells = []
                    for slack in (0.0, 1e-4 * (bounds[1] - bounds[0])):
                        for numbers in released:
                            errors = [rank_error(ordered, v, q, slack) for v in numbers]
                            cells.append(f"{np.mean(errors):.1f} ({np.quantile(errors, 0.9):.1f})")
                        if slack == 0:
                            cells.append(f"{above(*([rank_error(ordered, v, q) for v in numbers] for numbers in released)):.1f}")
                    print(f"| {name} | {q} | {epsilon} | " + " | ".join(cells) + " |", flush=True)
        print("\nSeveral quantiles in one charge: mean of all rank errors, in records. *By halving*: `quantile(x, 0.25, 0.5, 0.75)` and the like.")
        print(f"*One by one*: one query for each fraction at its part of epsilon, {runs // 4} times, and the same with OpenDP, {runs // 30} times.\n")
        print(result_page.mark("quantiles-several", r"^10,000"))
        print("| data | fractions | epsilon | by halving | one by one | OpenDP, one by one |")
        print("|---|---|---|---|---|---|")
        for name, data, bounds in (sets[0], sets[2], sets[3]):
            with open(path, "w") as out:
                out.write("x\n" + "".join(f"{v!r}\n" for v in data.tolist()))
            values = sorted(data.tolist())
            ordered = np.array(values)
            for asked in ([0.25, 0.5, 0.75], [round(0.1 * k, 1) for k in range(1, 10)]):
                for epsilon in (0.1, 1.0):
                    halved = surety_quantiles(command, path, bounds, asked, epsilon, runs, folder)
                    cells = [np.mean([rank_error(ordered, v, q) for one in halved for q, v in zip(asked, one)])]
                    each = epsilon / len(asked)
                    alone = [[v for (v,) in surety_quantiles(command, path, bounds, [q], each, runs // 4, folder)] for q in asked]
                    theirs = [opendp_quantiles(values, bounds, q, each, runs // 30) for q in asked]
                    for found in (alone, theirs):
                        cells.append(np.mean([np.mean([rank_error(ordered, v, q) for v in numbers]) for q, numbers in zip(asked, found)]))
                    print(f"| {name} | {len(asked)} | {epsilon} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
