"""Held-out squared error of the command's learners beside least squares that are not private, on eight data sets.

Run by hand, in an environment with what benchmarks/learners-requirements.txt pins, and with SURETY_DATA_DIR:
    python benchmarks/regression.py run build/release/cli/surety RESULTS [SPLITS [SET...]]   trains and scores the splits, "4-8" or "5" for the first
        five; goes on where RESULTS stops
    python benchmarks/regression.py page RESULTS... | scripts/result_page.py docs/results/regression.md

Replace-one, delta = 1e-5, rows with an intercept, of unit norm unless *scaled*. Columns and labels are mapped to [-1, 1] by round bounds in the script,
assumed to be public. Labels beyond their bounds are clamped, in training and scores. Training uses four fifths of the records; noise is replayed from the split's number.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import time

import learners
import numpy as np
import result_page

EPSILONS = learners.EPSILONS


def shaped(steps, clip):
    return ["--algorithm", "shaped-descent", "--steps", str(steps), "--clip-share", "1", "--clip", str(clip)]


ROWS = {
    "auto": ["--terms", "linear"],
    "sufficient-statistics": ["--algorithm", "sufficient-statistics"],
    "sufficient-statistics, scaled rows": ["--algorithm", "sufficient-statistics", "--rows", "scaled"],
    "sufficient-statistics, ridge by the least eigenvalue": [
        "--algorithm", "sufficient-statistics", "--label-weight", "1", "--ridge", "1", "--ridge-rule", "least-eigenvalue",
    ],  # fmt: skip
    "shaped-descent, 10 steps, clip .1": shaped(10, 0.1),
    "shaped-descent, 10 steps, clip .3": shaped(10, 0.3),
    "shaped-descent, 10 steps, clip .6": shaped(10, 0.6),
    "shaped-descent, 30 steps, clip .1": shaped(30, 0.1),
    "shaped-descent, 30 steps, clip .3": shaped(30, 0.3),
    "shaped-descent, 10 steps, clip .3, scaled rows": [*shaped(10, 0.3), "--rows", "scaled"],
    "shaped-descent, 10 steps, clip .6, scaled rows": [*shaped(10, 0.6), "--rows", "scaled"],
    "shaped-descent, 30 steps, clip .1, scaled rows": [*shaped(30, 0.1), "--rows", "scaled"],
    "mean label alone": ["--algorithm", "constant"],
}


def synthetic(records, features, seed):
    draws = np.random.default_rng(seed)
    x = draws.uniform(-1, 1, (records, features))
    weights = draws.normal(size=features)
    labels = x @ weights / math.sqrt(features) + draws.normal(size=records) * 0.1
    return x, labels, (-2, 2)


def table_set(table, bounds, label, label_bounds):
    return learners.bounded(table[list(bounds)].to_numpy(), list(bounds.values())), table[label].to_numpy(), label_bounds


def sets():
    data = os.environ.get("SURETY_DATA_DIR", ".")

    def elevation():
        rows = np.array([[float(cell) for cell in line.split(",")] for line in learners.lines(os.path.join(data, "covtype.20k.data.gz"))])
        bounds = [(0, 360), (0, 70), (0, 1400), (-200, 600), (0, 7200), (0, 255), (0, 255), (0, 255), (0, 7200)]
        return np.hstack([learners.bounded(rows[:, 1:10], bounds), rows[:, 10:54]]), rows[:, 0], (1800, 3900)

    def elevation_by_signs():
        columns, labels, bounds = elevation()
        columns[:, 9:] = np.where(columns[:, 9:] > 0, 1, -1)
        return columns, labels, bounds

    def visits():
        import pandas

        table = pandas.read_csv(os.path.join(data, "randhie.csv"))
        wide = {"lncoins": (0, 5), "lpi": (0, 8), "fmde": (0, 9), "disea": (0, 60)}
        return table_set(table, {name: wide.get(name, (0, 1)) for name in table if name != "mdvis"}, "mdvis", (0, 20))

    def fair():
        from statsmodels.datasets import fair as source

        bounds = {"rate_marriage": (1, 5), "age": (15, 45), "yrs_married": (0, 25), "children": (0, 6), "religious": (1, 4), "educ": (9, 20),
                  "occupation": (1, 6), "occupation_husb": (1, 6)}  # fmt: skip
        return table_set(source.load_pandas().data, bounds, "affairs", (0, 10))

    def party():
        from statsmodels.datasets import anes96 as source

        bounds = {"logpopul": (-3, 9), "TVnews": (0, 7), "selfLR": (1, 7), "ClinLR": (1, 7), "DoleLR": (1, 7), "age": (18, 95),
                  "educ": (1, 7), "income": (1, 24)}  # fmt: skip
        return table_set(source.load_pandas().data, bounds, "PID", (0, 6))

    def diabetes():
        from sklearn.datasets import load_diabetes

        found = load_diabetes()
        return learners.bounded(found.data, [(-0.2, 0.2)] * 10), found.target, (0, 400)

    return {
        "covtype.20k, elevation": elevation,
        "covtype.20k, elevation, bounds 0 and 1": elevation_by_signs,
        "randhie, visits": visits,
        "fair, affairs": fair,
        "anes96, party": party,
        "diabetes": diabetes,
        "synthetic 20,000 x 20": lambda: synthetic(20000, 20, 1),
        "synthetic 2,000 x 10": lambda: synthetic(2000, 10, 2),
    }


class Split:
    def __init__(self, loaded, split):
        x, labels, bounds = loaded
        y = learners.bounded(labels[:, None].astype(float), [bounds])[:, 0]
        order = np.random.default_rng(1000 + split).permutation(len(y))
        cut = len(y) * 4 // 5
        self.x, self.y, self.held_x, self.held_y = x[order[:cut]], y[order[:cut]], x[order[cut:]], y[order[cut:]]

    def error(self, predictions):
        return float(np.mean((predictions - self.held_y) ** 2))

    def least_squares(self):
        unit_rows = learners.Split.unit_rows
        return self.error(unit_rows(self.held_x) @ np.linalg.lstsq(unit_rows(self.x), self.y, rcond=None)[0])


def write_csv(path, x, y):
    with open(path, "w") as file:
        file.write(",".join(f"x{j}" for j in range(x.shape[1])) + ",label\n")
        for row, label in zip(x, y, strict=True):
            file.write(",".join(f"{value:.17g}" for value in (*row, label)) + "\n")


def score(command, split, file, held, row, epsilon, seed, folder):
    """The held-out squared error, by `train` and `predict`."""
    model, ledger = os.path.join(folder, "model.json"), os.path.join(folder, "run.db")
    for path in (model, ledger):
        if os.path.exists(path):
            os.remove(path)
    bounds = [word for j in range(split.x.shape[1]) for word in ("--bounds", f"x{j}=-1,1")]
    done = subprocess.run(
        [command, "train", file, "--label", "label", *bounds, "--loss", "squared", "--label-bound", "1",
         "--held-out", "0", "--epsilon", epsilon, "--delta", learners.DELTA, "--ledger", ledger, "--model", model, "--replay-seed", str(seed),
         "--json", *ROWS[row]], capture_output=True, text=True)  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    said = subprocess.run([command, "predict", model, held], check=True, capture_output=True, text=True).stdout
    return split.error(np.array([float(line) for line in said.split()])), json.loads(done.stdout).get("chosen")


def run(command, path, splits="5", *names):
    results = learners.Results(path)
    loaded = {name: load() for name, load in sets().items() if not names or name in names}
    first, last = map(int, splits.split("-")) if "-" in splits else (0, int(splits) - 1)
    for number in range(first, last + 1):
        for name, source in loaded.items():
            split = Split(source, number)
            with tempfile.TemporaryDirectory() as work:
                file, held = os.path.join(work, "train.csv"), os.path.join(work, "held.csv")
                write_csv(file, split.x, split.y)
                write_csv(held, split.held_x, split.held_y)
                for row, epsilon in [("constant", ""), ("not private", ""), *((row, e) for row in ROWS for e in EPSILONS)]:
                    key = (name, row, epsilon, number)
                    if key in results:
                        continue
                    begin, why = time.perf_counter(), None
                    if row == "constant":
                        error = split.error(np.mean(split.y))
                    elif row == "not private":
                        error = split.least_squares()
                    else:
                        error, why = score(command, split, file, held, row, epsilon, number + 1, work)
                    results.add(key, error, time.perf_counter() - begin, why)


def page(*paths):
    found = {}
    for path in paths:
        found |= learners.Results(path).found
    errors = {}
    for (name, row, epsilon, number), one in sorted(found.items()):
        errors.setdefault((name, row, epsilon), {})[number] = one["loss"]

    def mean(name, row, epsilon):
        return learners.mean_and_error(list(errors[(name, row, epsilon)].values()))

    names = [name for name in sets() if (name, "not private", "") in errors]
    print("# Squared loss\n")
    print(__doc__.split("\n\n")[2].strip() + "\n")
    print("Means over splits of the squared error of mapped labels (standard error, of splits and noise together), linear terms ([curves](other-terms.md)).")
    print("*Not private* is least squares on the same rows, *constant* the exact mean label.")
    print("*Auto* takes the mean label alone for nu = 2 d / (n mu) > .5, sufficient statistics for d <= 15 and nu <= .001. Otherwise it takes shaped descent on scaled rows with the clip from")
    print("[released residuals](../proofs/shaped-descent.md#residuals). Its constants were fitted on [made-up tables](squared-loss.md) and on splits 9 to 14 of these sets; splits here are from 9 on.")
    print("The 0/1 columns of the first table have the bounds -1 and 1, which makes scaled rows short; the second is the same table with the bounds 0 and 1.")
    print("*Ridge by the least eigenvalue* is a variant of AdaSSP (Wang 2018): one release of z z^T with a label weight of 1.")
    print("*Regret* is the error of auto over that of the best row in hindsight, minus 1.\n")
    regrets, above = {}, []
    print("## By data\n")
    for name in names:
        constant = mean(name, "constant", "")[0]
        print(result_page.mark("regression", r"^(covtype|randhie|diabetes|synthetic 20).*\| regret of auto \|", ["data", "row", "epsilon 0.1", "1", "8"], data=name))
        print("| row | " + " | ".join(f"epsilon {e}" if e == EPSILONS[0] else e for e in EPSILONS) + " |")
        print("|---|" + "---|" * len(EPSILONS))
        best = {e: min((mean(name, row, e)[0], row) for row in ROWS if row != "auto") for e in EPSILONS}
        for row in ROWS:
            cells = []
            for epsilon in EPSILONS:
                value = mean(name, row, epsilon)
                cells.append(f"{value[0]:.4f} ({value[1]:.1g})")
            print(f"| {row} | " + " | ".join(cells) + " |")
        print("| best of the others | " + " | ".join(best[e][1] for e in EPSILONS) + " |")
        for epsilon in EPSILONS:
            ours = mean(name, "auto", epsilon)[0]
            regrets[(name, epsilon)] = ours / best[epsilon][0] - 1
            if ours > 1.01 * constant:
                above.append(f"{name} at {epsilon} ({100 * (ours / constant - 1):.1f} %)")
        print("| regret of auto | " + " | ".join(f"{100 * regrets[(name, e)]:.1f} %" for e in EPSILONS) + " |\n")
    print(result_page.mark("regression-data") + "\n| data | constant | not private | splits |\n|---|---|---|---|")
    for name in names:
        constant, best_fit = mean(name, "constant", "")[0], mean(name, "not private", "")[0]
        print(f"| {name} | {constant:.4f} | {best_fit:.4f} | {len(errors[(name, 'not private', '')])} |")
    print("\n## In all\n\n| regret of auto | " + " | ".join(EPSILONS) + " |\n|---|" + "---|" * len(EPSILONS))
    for title, of in (("mean", np.mean), ("worst", max)):
        print(f"| {title} | " + " | ".join(f"{100 * of([regrets[(name, e)] for name in names]):.1f} %" for e in EPSILONS) + " |")
    at_best = [f"{name} at {e}" for name in names for e in EPSILONS
               if mean(name, "mean label alone", e)[0] > 1.01 * mean(name, "constant", "")[0]]  # fmt: skip
    print(f"\nauto is more than 1 % above the exact mean label: {', '.join(above) if above else 'nowhere'}.")
    beyond = [name for name in names if mean(name, "not private", "")[0] > mean(name, "constant", "")[0]]
    print(f"The released mean label is more than 1 % above it: {', '.join(at_best) if at_best else 'nowhere'}.")
    print(f"Least squares without privacy, on rows of unit norm, are above it: {', '.join(beyond) if beyond else 'nowhere'}.")


def main():
    what, *rest = sys.argv[1:] or [""]
    if what == "run":
        run(*rest)
    elif what == "page":
        page(*rest)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
