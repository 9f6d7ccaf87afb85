"""What shrinkage by an estimate of the risk is worth: models of two classes with a fixed ridge, with a small one, and shrunk.

Run by hand, in an environment with what benchmarks/learners-requirements.txt pins:
    python benchmarks/shrinkage.py SURETY | scripts/result_page.py docs/results/shrinkage.md
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "scripts"))
import result_page  # noqa: E402

#: Rows that the page shows; the file has all.
SHOWN = "(sensors|purchases|weak survey|spectra|clicks|digits, odd or even|mean) "

EPSILONS = (0.5, 1, 4)
SEEDS = (1, 2, 3)
TESTED = 4000
KINDS = {"ridge .3": ["--ridge", "0.3"], "ridge .03": ["--ridge", "0.03"], "shrunk": ["--shrink", "stein"]}


def from_score(random, x, score, deviation, shift=0.0):
    score = deviation * (score - score.mean()) / score.std() + shift
    return x, (random.random(len(x)) < 1 / (1 + np.exp(-score))).astype(int)


def sensors(random, records, features):
    """Few factors, labels that are nearly separable."""
    factors = random.normal(size=(records, 6))
    x = factors @ random.normal(size=(6, features)) + 0.4 * random.normal(size=(records, features))
    return from_score(random, x, 4 * factors[:, 0] - 3 * factors[:, 1] + 2 * factors[:, 2], 5)


def texts(random, records, features):
    """Counts of words, whose rates depend on the class."""
    y = random.random(records) < 0.4
    base = 0.3 * random.exponential(size=features)
    rates = np.where(y[:, None], base * np.exp(0.8 * random.normal(size=features)), base)
    return np.log1p(random.poisson(2 * rates * random.gamma(3, 1 / 3, size=(records, 1)))), y.astype(int)


def purchases(random, records, features):
    """Amounts of long tails, most of them 0."""
    z = random.normal(size=(records, features)) + 0.7 * random.normal(size=(records, 1))
    x = np.where(z > 0.5, np.exp(z), 0)
    return from_score(random, x, np.minimum(x, 6) @ (random.normal(size=features) * (random.random(features) < 0.3)), 3)


def forms(random, records, features):
    """Columns of 0 and 1, of which some matter much."""
    x = (random.random((records, features)) < random.uniform(0.05, 0.6, size=features)).astype(float)
    return from_score(random, x, x @ (random.normal(size=features) * np.where(random.random(features) < 0.15, 3, 0.3)), 3)


def survey(deviation):
    """Weak signals of correlated columns."""
    def made(random, records, features):
        x = random.normal(size=(records, features)) + 0.5 * random.normal(size=(records, 1))
        return from_score(random, x, x @ (random.normal(size=features) * (random.random(features) < 0.5)), deviation)
    return made


def spectra(random, records, features):
    """Smooth curves; a class has another bump."""
    at = np.linspace(0, 1, features)
    y = random.random(records) < 0.5
    x = sum(random.normal(size=(records, 1)) * np.cos(k * np.pi * at) / k for k in range(1, 6)) + 0.1 * random.normal(size=(records, features))
    return x + y[:, None] * 0.4 * np.exp(-((at - 0.6) / 0.1) ** 2), y.astype(int)


def laboratory(random, records, features):
    """Correlated lognormal numbers, a seventh of positives."""
    z = random.normal(size=(records, features)) @ (np.eye(features) + 0.5 * random.normal(size=(features, features)) / features**0.5)
    return from_score(random, np.exp(z), z @ random.normal(size=features), 2.5, -2.5)


def clicks(random, records, features):
    """Rare columns of 0 and 1, weak signals."""
    x = (random.random((records, features)) < random.uniform(0.01, 0.2, size=features)).astype(float)
    return from_score(random, x, x @ random.normal(size=features), 0.7, -1)


CHOSEN_ON = {"sensors": (sensors, 2000, 25, 1), "many sensors": (sensors, 8000, 60, 2), "texts": (texts, 4000, 57, 3), "purchases": (purchases, 12000, 30, 4),
             "forms": (forms, 3000, 40, 5), "few forms": (forms, 1500, 25, 6), "survey": (survey(0.7), 5000, 30, 7), "weak survey": (survey(0.4), 2000, 15, 8),
             "wide survey": (survey(0.6), 10000, 50, 9), "small survey": (survey(0.8), 1000, 8, 10), "large survey": (survey(1.5), 20000, 20, 11)}
FRESH = {"spectra": (spectra, 3000, 40, 21), "laboratory": (laboratory, 8000, 24, 22), "clicks": (clicks, 10000, 45, 23), "panel of questions": (survey(1), 4000, 35, 24)}
PACKAGED = {"digits, odd or even": lambda: (lambda d: (d.data, d.target % 2))(load_digits()), "breast cancer": lambda: load_breast_cancer(return_X_y=True)}


def log_loss(p, y):
    p = np.clip(p, 1e-9, 1 - 1e-9)
    return float(-np.mean(np.where(y == 1, np.log(p), np.log(1 - p))))


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def shares(command, x, y, tested, folder):
    """By epsilon and kind: the mean share of the way from the constant's loss to that of logistic regression."""
    train, others = os.path.join(folder, "train.csv"), os.path.join(folder, "others.csv")
    names = [f"x{j}" for j in range(x.shape[1])]
    for path, part in ((train, slice(0, -tested)), (others, slice(-tested, None))):
        np.savetxt(path, np.column_stack([x[part], y[part]]), delimiter=",", header=",".join([*names, "y"]), comments="", fmt="%.8g")
    known = []
    for j, name in enumerate(names):
        lower, upper = np.quantile(x[:, j], (0.002, 0.998))
        known += ["--categories", f"{name}=0,1"] if set(np.unique(x[:, j])) <= {0, 1} else ["--bounds", f"{name}={lower:.4g},{max(upper, lower + 1e-3):.4g}"]
    constant = log_loss(np.full(tested, y[:-tested].mean()), y[-tested:])
    scale = x[:-tested].std(axis=0) + 1e-9
    best = log_loss(LogisticRegression(max_iter=5000).fit(x[:-tested] / scale, y[:-tested]).predict_proba(x[-tested:] / scale)[:, 1], y[-tested:])
    base = ["--label", "y>0", *known, "--held-out", "0", "--delta", "1e-5", "--adjacency", "replace-one"]
    found = {}
    for epsilon in EPSILONS:
        plan = run(command, "train", train, *base, "--terms", "linear", "--epsilon", str(epsilon), "--ledger", os.path.join(folder, "plan.db"), "--model",
                   os.path.join(folder, "model.json"), "--print-plan")
        steps = json.loads(plan)["options"].get("steps")
        for kind, more in KINDS.items():
            each = []
            for seed in SEEDS:
                model = os.path.join(folder, "model.json")
                options = ["--algorithm", "constant"] if steps is None else ["--algorithm", "shaped-descent", "--start", "share", "--steps", str(steps), *more]
                run(command, "train", train, *base, *options, "--epsilon", str(epsilon), "--ledger", os.path.join(folder, f"{epsilon}{kind}{seed}.db"), "--model", model,
                    "--replay-seed", str(seed))
                p = np.array(run(command, "predict", model, others).split(), dtype=float)
                each.append((constant - log_loss(p, y[-tested:])) / (constant - best))
            found[epsilon, kind] = float(np.mean(each))
    return found


def section(command, tables, part):
    print(result_page.mark("shrinkage", rf"^{part} \| {SHOWN}", ["table", *(f"epsilon {epsilon:g}: {', '.join(KINDS)}" for epsilon in EPSILONS)], part=part))
    print("| table | records | columns | " + " | ".join(f"epsilon {epsilon:g}: {', '.join(KINDS)}" for epsilon in EPSILONS) + " |")
    print("|---|---|---|" + "---|" * len(EPSILONS))
    means = []
    for name, (x, y, tested) in tables:
        with tempfile.TemporaryDirectory() as folder:
            found = shares(command, x, y, tested, folder)
        means.append([[found[epsilon, kind] for kind in KINDS] for epsilon in EPSILONS])
        print(f"| {name} | {len(x) - tested:,} | {x.shape[1]} | " + " | ".join(", ".join(f"{value:.2f}" for value in row) for row in means[-1]) + " |", flush=True)
    print("| mean | | | " + " | ".join(", ".join(f"{value:.2f}" for value in row) for row in np.mean(means, axis=0)) + " |\n")


def made(tables):
    for name, (kind, records, features, seed) in tables.items():
        random = np.random.default_rng(seed)
        yield name, (*kind(random, records + TESTED, features), TESTED)


def packaged():
    for name, load in PACKAGED.items():
        x, y = load()
        order = np.random.default_rng(1).permutation(len(x))
        x, y = x[order], y[order]
        kept = x.std(axis=0) > 0
        yield name, (x[:, kept].astype(float), y.astype(int), len(x) // 4)


def main(command):
    print("# Shrinkage of models of two classes\n")
    print("<!-- python benchmarks/shrinkage.py SURETY -->\n")
    print("`shaped-descent` with the steps of the rule, linear terms, delta = 1e-5, replace-one, three seeds, bounds at the .002 and .998 quantiles. Log loss on other records.")
    print("A share of 0 is the constant, 1 logistic regression without privacy. *Shrunk*: `--shrink stein`, the default of `--algorithm auto`. A ridge of .3 was the default before.\n")
    print("## Made tables on which its constants were chosen\n")
    section(command, made(CHOSEN_ON), "chosen on")
    print("## Made tables that were named beforehand\n")
    section(command, made(FRESH), "named beforehand")
    print("## Two real tables, on which the former default was fitted\n")
    section(command, packaged(), "real")


if __name__ == "__main__":
    main(sys.argv[1])
