"""What shrinkage of curves towards lines is worth: softmax models of several classes with lines, with curves and a fixed ridge, and with curves that are shrunk.

Run by hand, in an environment with what benchmarks/learners-requirements.txt pins:
    python benchmarks/curve_shrinkage.py SURETY | scripts/result_page.py docs/results/curve-shrinkage.md
"""

import json
import os
import sys
import tempfile

import numpy as np
from sklearn.linear_model import LogisticRegression

from shrinkage import result_page, run

#: Rows that the page shows; the file has all.
SHOWN = "(survey|waves|lognormal|thresholds|amounts|mean) "

EPSILONS = (2, 4)
SEEDS = (1, 2)
TESTED = 4000
KINDS = ("lines", "fixed ridge", "shrunk")
LEAST_GAIN = 0.01  # of the constant's loss by logistic regression: where less can be learned by lines, a share would say nothing


def softmax(scores):
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def drawn(random, scores, deviation):
    scores = deviation * (scores - scores.mean(axis=0)) / scores.std(axis=0).mean()
    return (random.random((len(scores), 1)) > np.cumsum(softmax(scores), axis=1)[:, :-1]).sum(axis=1)


def survey(deviation):
    """Scores that are linear in correlated columns."""

    def made(random, records, columns, classes):
        x = random.normal(size=(records, columns)) + 0.5 * random.normal(size=(records, 1))
        return x, drawn(random, x @ (random.normal(size=(columns, classes)) * (random.random((columns, 1)) < 0.5)), deviation)

    return made


def ordered(random, records, columns, classes):
    """Classes by the size of a hidden number, linear in the columns."""
    x = random.normal(size=(records, columns)) * random.uniform(0.5, 2, size=columns)
    hidden = x @ (random.normal(size=columns) / columns**0.5) + random.logistic(size=records)
    return x, np.searchsorted(np.quantile(hidden, np.arange(1, classes) / classes), hidden)


def clusters(random, records, columns, classes):
    """A normal distribution for each class."""
    y = random.integers(0, classes, records)
    mixed = np.eye(columns) + random.normal(size=(columns, columns)) / columns**0.5
    return (0.9 * random.normal(size=(classes, columns))[y] + random.normal(size=(records, columns))) @ mixed, y


def waves(random, records, columns, classes):
    """Scores of sines and lines."""
    x = random.uniform(-1, 1, size=(records, columns))
    scores = [np.sin(3 * x @ (random.normal(size=columns) * (random.random(columns) < 0.3))) + 0.5 * x @ random.normal(size=columns) for _ in range(classes)]
    return x, drawn(random, np.stack(scores, axis=1), 1.5)


def lognormal(random, records, columns, classes):
    """Columns of long tails whose logarithms matter."""
    z = random.normal(size=(records, columns)) @ (np.eye(columns) + 0.5 * random.normal(size=(columns, columns)) / columns**0.5)
    return np.exp(z), drawn(random, z @ random.normal(size=(columns, classes)), 1.5)


def thresholds(random, records, columns, classes):
    """Each column counts above a number of its own."""
    x = random.normal(size=(records, columns))
    return x, drawn(random, (x > random.normal(size=columns)) @ random.normal(size=(columns, classes)), 1.2)


def spreads(random, records, columns, classes):
    """Classes that differ in the spread of columns."""
    y = random.integers(0, classes, records)
    return np.exp(0.4 * random.normal(size=(classes, columns)))[y] * random.normal(size=(records, columns)), y


def amounts(random, records, columns, classes):
    """Exponential numbers with weak linear effects."""
    x = random.exponential(size=(records, columns))
    return x, drawn(random, np.minimum(x, 4) @ random.normal(size=(columns, classes)), 0.6)


def ratings(random, records, columns, classes):
    """Whole numbers from 1 to 7 with a linear effect, of two of them with an optimum."""
    x = np.clip(np.round(4 + 1.5 * (random.normal(size=(records, columns)) + 0.6 * random.normal(size=(records, 1)))), 1, 7)
    scores = (x - 4) @ random.normal(size=(columns, classes))
    return x, drawn(random, scores - ((x[:, :2] - 4) ** 2) @ random.normal(size=(2, classes)), 1)


CHOSEN_ON = {"survey": (survey(0.8), 8000, 10, 4, 32), "weak survey": (survey(0.5), 12000, 15, 3, 33), "ordered": (ordered, 10000, 6, 5, 37), "clusters": (clusters, 6000, 12, 5, 38),
             "waves": (waves, 8000, 8, 3, 51), "lognormal": (lognormal, 6000, 16, 4, 52)}
FRESH = {"thresholds": (thresholds, 12000, 8, 4, 71), "spreads": (spreads, 10000, 6, 3, 72), "amounts": (amounts, 15000, 10, 4, 73), "ratings": (ratings, 9000, 8, 5, 74)}


def log_loss(p, y):
    return float(-np.mean(np.log(np.clip(p[np.arange(len(y)), y], 1e-9, 1))))


def shares(command, x, y, folder):
    """By epsilon and kind: the mean share of the way from the constant's loss to that of multinomial logistic regression, or where that learns nothing the change of the
    constant's loss; and whether it is a share."""
    train, others = os.path.join(folder, "train.csv"), os.path.join(folder, "others.csv")
    names = [f"x{j}" for j in range(x.shape[1])]
    for path, part in ((train, slice(0, -TESTED)), (others, slice(-TESTED, None))):
        np.savetxt(path, np.column_stack([x[part], y[part]]), delimiter=",", header=",".join([*names, "y"]), comments="", fmt="%.8g")
    classes = int(y.max()) + 1
    known = []
    for j, name in enumerate(names):
        lower, upper = np.quantile(x[:, j], (0.002, 0.998))
        known += ["--bounds", f"{name}={lower:.4g},{upper:.4g}"]
    constant = log_loss(np.tile(np.bincount(y[:-TESTED], minlength=classes) / (len(y) - TESTED), (TESTED, 1)), y[-TESTED:])
    scale = x[:-TESTED].std(axis=0)
    best = log_loss(LogisticRegression(max_iter=5000).fit(x[:-TESTED] / scale, y[:-TESTED]).predict_proba(x[-TESTED:] / scale), y[-TESTED:])
    is_share = best < (1 - LEAST_GAIN) * constant
    base = ["--label", "y", "--classes", ",".join(map(str, range(classes))), *known, "--held-out", "0", "--delta", "1e-5", "--adjacency", "replace-one"]
    model = os.path.join(folder, "model.json")
    found = {}
    for epsilon in EPSILONS:
        options = {}
        for terms in ("linear", "additive"):
            plan = run(command, "train", train, *base, "--terms", terms, "--epsilon", str(epsilon), "--ledger", os.path.join(folder, "plan.db"), "--model", model, "--print-plan")
            options[terms] = ["--terms", terms, "--classes-by", "softmax", "--algorithm", "shaped-descent", "--steps", str(json.loads(plan)["options"]["steps"])]
        features = 9 * x.shape[1] + 1
        few = len(x) - TESTED < 70 * features
        rows = {"lines": [*options["linear"], "--ridge", "0.1"], "fixed ridge": [*options["additive"], "--ridge", "0.3" if few else "0.03"],
                "shrunk": [*options["additive"], "--shrink", "stein"]}
        for kind, more in rows.items():
            each = []
            for seed in SEEDS:
                run(command, "train", train, *base, *more, "--epsilon", str(epsilon), "--ledger", os.path.join(folder, f"{epsilon}{kind}{seed}.db"), "--model", model,
                    "--replay-seed", str(seed))
                lines = run(command, "predict", model, others).splitlines()
                p = np.array([[float(cell) for cell in line.split(",")] for line in lines if line[:1].isdigit()])
                gain = constant - log_loss(p, y[-TESTED:])
                each.append(gain / (constant - best) if is_share else -gain / constant)
            found[epsilon, kind] = float(np.mean(each))
    return found, is_share


def section(command, tables, part):
    print(result_page.mark("curve-shrinkage", rf"^{part} \| {SHOWN}", ["table", *(f"epsilon {epsilon:g}: {', '.join(KINDS)}" for epsilon in EPSILONS)], part=part))
    print("| table | records | columns | classes | " + " | ".join(f"epsilon {epsilon:g}: {', '.join(KINDS)}" for epsilon in EPSILONS) + " |")
    print("|---|---|---|---|" + "---|" * len(EPSILONS))
    means = []
    for name, (kind, records, columns, classes, seed) in tables.items():
        x, y = kind(np.random.default_rng(seed), records + TESTED, columns, classes)
        with tempfile.TemporaryDirectory() as folder:
            found, is_share = shares(command, x, y, folder)
        rows = [[found[epsilon, kind] for kind in KINDS] for epsilon in EPSILONS]
        if is_share:
            means.append(rows)
        print(f"| {name} | {records:,} | {columns} | {classes} | " + " | ".join(", ".join(f"{v:.2f}" if is_share else f"{v:+.1%}" for v in row) for row in rows) + " |", flush=True)
    print("| mean | | | | " + " | ".join(", ".join(f"{value:.2f}" for value in row) for row in np.mean(means, axis=0)) + " |\n")


def main(command):
    print("# Curves of several classes, shrunk towards lines\n")
    print("<!-- python benchmarks/curve_shrinkage.py SURETY -->\n")
    print("`shaped-descent` by softmax with the steps of the rule, delta = 1e-5, replace-one, two seeds, bounds at the .002 and .998 quantiles; log loss on other records.")
    print("A share of 0 is the constant, 1 multinomial logistic regression without privacy, which has no curves.")
    print("Where logistic regression gains less than a hundredth of the constant's loss, a cell is the change of that loss, and no part of the mean.")
    print("*Lines*: `--terms linear`. *Fixed ridge*: curves with the ridge that was the default before. *Shrunk*: `--shrink stein`, the default where `auto` takes curves.\n")
    print("## Made tables on which the method was chosen\n")
    section(command, CHOSEN_ON, "chosen on")
    print("## Made tables that were named beforehand\n")
    section(command, FRESH, "named beforehand")


if __name__ == "__main__":
    main(sys.argv[1])
