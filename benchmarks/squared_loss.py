"""Squared loss on made-up tables: the default beside sufficient statistics, the released mean and least squares, and the bias of its mean prediction.

Run by hand, in an environment with what benchmarks/learners-requirements.txt pins:
    python benchmarks/squared_loss.py build/release/cli/surety | scripts/result_page.py docs/results/squared-loss.md

Replace-one, delta = 1e-5, every column with bounds, linear terms: squared error on 20,000 fresh records over that of the exact mean label.
"""

import math
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import result_page  # noqa: E402

EPSILONS = ("0.5", "1", "4")
SIZES = ((2_000, 8), (5_000, 25), (20_000, 15))
NOISY_SIZES = ((3_000, 60), (1_500, 40), (500, 20), (800, 60), (500, 40))
REPETITIONS = 3
ROWS = {
    "auto": ["--terms", "linear"],
    "sufficient statistics": ["--algorithm", "sufficient-statistics", "--rows", "scaled"],
    "fixed clip": ["--algorithm", "shaped-descent", "--rows", "scaled", "--steps", "30", "--clip-share", "1", "--ridge", "0.3"],  # and a tenth of the bound
    "released mean": ["--algorithm", "constant"],
}


def scores_of(records, features, draws, weights):
    """Columns in [-1, 1], a third of them -1 or 1, that depend on each other, and a score of unit variance."""
    mixed = np.eye(features) + 0.5 * np.tril(np.ones((features, features)), -1) / math.sqrt(features)
    normal = draws.normal(size=(records, features)) @ mixed.T
    columns = np.clip(normal / 3, -1, 1)
    binary = features // 3
    columns[:, :binary] = np.where(normal[:, :binary] > 0.8, 1, -1)
    score = columns @ weights
    return columns, (score - score.mean()) / score.std()


KINDS = {
    "normal": ((-5, 5), lambda s, e, u, r: s + e),
    "weak signal": ((-5, 5), lambda s, e, u, r: 0.3 * s + e),
    "strong signal": ((-7, 7), lambda s, e, u, r: 2 * s + 0.3 * e),
    "10 % ones": ((0, 1), lambda s, e, u, r: u < np.clip(0.1 + 0.08 * s, 0, 1)),
    "50 % ones": ((0, 1), lambda s, e, u, r: u < np.clip(0.5 + 0.25 * s, 0, 1)),
    "count": ((0, 20), lambda s, e, u, r: r.poisson(np.exp(0.5 * s - 0.5))),
    "count, many zeros": ((0, 20), lambda s, e, u, r: r.poisson(np.exp(0.5 * s + 0.5)) * (u < 0.35)),
    "log-normal": ((0, 100), lambda s, e, u, r: np.exp(0.5 * s + e)),
    "cost, 30 % zeros": ((0, 300), lambda s, e, u, r: np.exp(0.7 * s + 1.2 * e) * (u < 0.7)),
    "bound 50 times the spread": ((-50, 50), lambda s, e, u, r: s + 0.7 * e),
    "mean near a bound": ((-5, 45), lambda s, e, u, r: s + 0.7 * e),
    "mass at both bounds": ((-1, 1), lambda s, e, u, r: 0.5 * s + 0.5 * e),
}


def table(kind, records, features, seed):
    draws = np.random.default_rng(seed)
    weights = np.random.default_rng(features).normal(size=features) / np.sqrt(np.arange(1, features + 1))
    columns, score = scores_of(records, features, draws, weights)
    bounds, label = KINDS[kind]
    labels = label(score, draws.normal(size=records), draws.random(records), draws)
    return columns, np.clip(labels.astype(float), *bounds), bounds


def write(path, columns, labels):
    header = ",".join([*(f"x{j}" for j in range(columns.shape[1])), "label"])
    np.savetxt(path, np.hstack([columns, labels[:, None]]), "%.9g", ",", header=header, comments="")


def predictions(command, folder, features, bounds, epsilon, seed, row):
    model, ledger = os.path.join(folder, "model.json"), os.path.join(folder, "run.db")
    for path in (model, ledger):
        if os.path.exists(path):
            os.remove(path)
    columns = [word for j in range(features) for word in ("--bounds", f"x{j}=-1,1")]
    subprocess.run(
        [command, "train", os.path.join(folder, "train.csv"), "--label", "label", *columns, "--loss", "squared",
         f"--label-bounds={bounds[0]},{bounds[1]}", "--held-out", "0", "--epsilon", epsilon, "--delta", "1e-5", "--ledger", ledger, "--model", model,
         "--replay-seed", str(seed), "--json", *row], check=True, capture_output=True, text=True)  # fmt: skip
    said = subprocess.run([command, "predict", model, os.path.join(folder, "fresh.csv")], check=True, capture_output=True, text=True).stdout
    return np.array([float(line) for line in said.split()])


def options_of(row, bounds):
    clip = ["--clip", str((bounds[1] - bounds[0]) / 20)] if row == "fixed clip" else []
    return ROWS[row] + clip


def with_one(columns):
    return np.hstack([columns, np.ones((len(columns), 1))])


def measure(command, sizes, rows):
    """{(row, epsilon): {(kind, records): error over the mean's}}, and of least squares. `rows` maps names to the options of bounds."""
    errors, optima = {}, {}
    for records, features in sizes:
        for kind in KINDS:
            columns, labels, bounds = table(kind, records, features, 101)
            fresh, fresh_labels, _ = table(kind, 20_000, features, 102)
            constant = np.mean((fresh_labels - labels.mean()) ** 2)
            found = with_one(fresh) @ np.linalg.lstsq(with_one(columns), labels, rcond=None)[0]
            optima[kind, records, features] = np.mean((fresh_labels - found) ** 2) / constant
            with tempfile.TemporaryDirectory() as folder:
                write(os.path.join(folder, "train.csv"), columns, labels)
                write(os.path.join(folder, "fresh.csv"), fresh, fresh_labels)
                for row, options in rows.items():
                    for epsilon in EPSILONS:
                        runs = [predictions(command, folder, features, bounds, epsilon, seed, options(bounds)) for seed in range(1, REPETITIONS + 1)]
                        errors.setdefault((row, epsilon), {})[kind, records, features] = np.mean(
                            [np.mean((fresh_labels - np.clip(one, *bounds)) ** 2) for one in runs]
                        ) / constant
    return errors, optima


def mean_share(errors, optima):
    return np.mean([max(-1, (1 - error) / (1 - optima[at])) for at, error in errors.items()])


def mu_of(epsilon):
    """Of the Gaussian mechanism at delta = 1e-5."""
    low, high = 1e-3, 10.0
    normal = statistics.NormalDist()
    while high - low > 1e-9:
        mu = (low + high) / 2
        delta = normal.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal.cdf(-mu / 2 - epsilon / mu)
        low, high = (mu, high) if delta < 1e-5 else (low, mu)
    return low


def print_noisy(command):
    rows = {"model": lambda bounds: ["--algorithm", "shaped-descent", "--rows", "scaled"], "released mean": lambda bounds: ROWS["released mean"]}
    print("## Where noise is large\n")
    print("Mean shares over the twelve kinds of labels, of shaped descent and of the released mean alone, by nu = 2 d / (n mu). The default takes the mean for nu > .5.\n")
    print("| records | columns | epsilon | nu | model | released mean |")
    print("|---|---|---|---|---|---|")
    lines = []
    for size in NOISY_SIZES:
        errors, optima = measure(command, [size], rows)
        for e in EPSILONS:
            nu = 2 * (size[1] + 1) / (size[0] * mu_of(float(e)))
            shares = " | ".join(f"{mean_share(errors[row, e], optima):.2f}" for row in rows)
            lines.append((nu, f"| {size[0]} | {size[1]} | {e} | {nu:.2f} | {shares} |"))
    print("\n".join(line for _, line in sorted(lines)))
    print()


def print_errors(errors, optima):
    print("## Error over that of the exact mean label\n\nRows of `auto` with 5,000 records.\n")
    print(result_page.mark("squared-loss", keep=r"^auto . (normal|10 %|count,|log).* 5000 .", columns=["label", *(f"epsilon {e}" for e in EPSILONS), "least squares"]))
    print("| row | label | records | " + " | ".join(f"epsilon {e}" for e in EPSILONS) + " | least squares |")
    print("|---|---|---|" + "---|" * (len(EPSILONS) + 1))
    for row in ROWS:
        for at in optima:
            numbers = " | ".join(f"{errors[row, e][at]:.3f}" for e in EPSILONS)
            print(f"| {row} | {at[0]} | {at[1]} | {numbers} | {optima[at]:.3f} |")
    print()
    print("## In all\n")
    print("A share of 0 is the exact mean, 1 least squares; a share below -1 counts as -1.\n")
    print("| row | " + " | ".join(f"mean share at {e} | largest error at {e}" for e in EPSILONS) + " |")
    print("|---|" + "---|" * (2 * len(EPSILONS)))
    for row in ROWS:
        cells = []
        for e in EPSILONS:
            cells.append(f"{mean_share(errors[row, e], optima):.2f} | {max(errors[row, e].values()):.3f}")
        print(f"| {row} | " + " | ".join(cells) + " |")
    print()


def print_bias(command):
    print("## Bias\n")
    print("Mean prediction minus the mean label, in standard deviations of the label; 8 columns, mean of five repetitions. It falls as n mu grows.\n")
    print(result_page.mark("squared-loss-bias", keep=r"\| 5000 \|"))
    print("| label | records | " + " | ".join(f"epsilon {e}" for e in EPSILONS) + " |")
    print("|---|---|" + "---|" * len(EPSILONS))
    for kind in ("10 % ones", "count, many zeros", "cost, 30 % zeros"):
        for records in (5_000, 50_000, 500_000):
            columns, labels, bounds = table(kind, records, 8, 103)
            cells = []
            with tempfile.TemporaryDirectory() as folder:
                write(os.path.join(folder, "train.csv"), columns, labels)
                write(os.path.join(folder, "fresh.csv"), columns[:20_000], labels[:20_000])
                # A linear model: its mean on all records is that of least squares on the first ones, scaled by neither.
                for epsilon in EPSILONS:
                    biases = []
                    for seed in range(1, 6):
                        found = predictions(command, folder, 8, bounds, epsilon, seed, ROWS["auto"])
                        line = np.linalg.lstsq(with_one(columns[:20_000]), found, rcond=None)[0]
                        biases.append(np.mean(with_one(columns) @ line) - labels.mean())
                    cells.append(f"{np.mean(biases) / labels.std():.4f}")
            print(f"| {kind} | {records} | " + " | ".join(cells) + " |")
    print()


def main(command):
    print("# Squared loss on made-up tables\n")
    print(__doc__.split("\n\n")[2].strip() + "\n")
    print("Made by `benchmarks/squared_loss.py`. The rule was fitted on tables of the same kinds from other seeds")
    print("([proof](../proofs/shaped-descent.md#residuals)); real tables: [regression](regression.md).\n")
    print("*Fixed clip* is shaped descent with derivatives clipped to a tenth of the label's bound, 30 steps and a ridge of .3.\n")
    print_errors(*measure(command, SIZES, {row: lambda bounds, row=row: options_of(row, bounds) for row in ROWS}))
    print_noisy(command)
    print_bias(command)


if __name__ == "__main__":
    main(*sys.argv[1:])
