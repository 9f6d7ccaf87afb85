"""What trainings with delta = 0 reach: made tables on which the rule's numbers were chosen, and others that were named beforehand.

Run by hand, in an environment with what benchmarks/learners-requirements.txt pins:
    python benchmarks/pure.py SURETY | scripts/result_page.py docs/results/pure.md
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.linear_model import LogisticRegression

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "scripts"))
import result_page  # noqa: E402

#: Rows that the page shows; the file has all.
SHOWN = "(6 exponential|9, half of 0 and 1|mean) "

EPSILONS = (0.5, 1, 4)
SEEDS = (1, 2, 3, 4)
RECORDS = 20_000
TESTED = 10_000


def normal(random, records, features):
    return random.normal(size=(records, features))


def two_factors(random, records, features):
    return normal(random, records, 2) @ normal(random, 2, features) + 0.5 * normal(random, records, features)


def exponential(random, records, features):
    return random.exponential(size=(records, features))


def binary(random, records, features):
    return (random.random((records, features)) < 0.3).astype(float)


def uniform(random, records, features):
    return random.uniform(-1, 1, size=(records, features))


def lognormal(random, records, features):
    return np.exp(normal(random, records, features))


def counts(random, records, features):
    return random.poisson(2, size=(records, features)).astype(float)


def half_binary(random, records, features):
    x = normal(random, records, features)
    x[:, ::2] = x[:, ::2] > 0.5
    return x


def equally_correlated(random, records, features):
    return normal(random, records, features) + 1.5 * normal(random, records, 1)


def on_a_line(random, records, features):
    """Powers of one number."""
    return random.uniform(-1, 1, size=(records, 1)) ** np.arange(1, features + 1)


# Columns, deviation of the log-odds, share of the class, seed.
CHOSEN_ON = {"3 normal": (normal, 3, 1.5, 0.5, 1), "5 from two factors": (two_factors, 5, 2, 0.3, 2), "6 exponential": (exponential, 6, 1.5, 0.4, 3),
             "8 of 0 and 1": (binary, 8, 1.2, 0.5, 4), "10 uniform": (uniform, 10, 2, 0.35, 5)}
FRESH = {"4 lognormal": (lognormal, 4, 1.5, 0.4, 11), "7 equally correlated": (equally_correlated, 7, 1.5, 0.5, 12), "3 powers of one": (on_a_line, 3, 2, 0.2, 13),
         "9, half of 0 and 1": (half_binary, 9, 1, 0.1, 14), "10 counts": (counts, 10, 1.5, 0.6, 15)}


def made(kind, features, deviation, share, seed):
    """Columns, and labels of logistic log-odds with this deviation and share."""
    random = np.random.default_rng(seed)
    x = kind(random, RECORDS + TESTED, features)
    score = x @ random.normal(size=features)
    score = deviation * (score - score.mean()) / score.std()
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 / (1 + np.exp(-score - middle))).mean() < share else (low, middle)
    return x, (random.random(len(x)) < 1 / (1 + np.exp(-score - low))).astype(int)


def log_loss(p, y):
    p = np.clip(p, 1e-9, 1 - 1e-9)
    return float(-np.mean(np.where(y == 1, np.log(p), np.log(1 - p))))


def write(path, x, y):
    names = ",".join([f"x{j}" for j in range(x.shape[1])] + ["y"])
    np.savetxt(path, np.column_stack([x, y]), delimiter=",", header=names, comments="", fmt="%.8g")


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def shares(command, x, y, folder):
    """By epsilon and delta: the mean share of the way from the constant's loss to that of logistic regression, and the least of the seeds."""
    train, tested = os.path.join(folder, "train.csv"), os.path.join(folder, "tested.csv")
    write(train, x[:RECORDS], y[:RECORDS])
    write(tested, x[RECORDS:], y[RECORDS:])
    constant = log_loss(np.full(TESTED, y[:RECORDS].mean()), y[RECORDS:])
    scaled = (x - x[:RECORDS].mean(axis=0)) / x[:RECORDS].std(axis=0)
    best = log_loss(LogisticRegression(C=1e6, max_iter=5000).fit(scaled[:RECORDS], y[:RECORDS]).predict_proba(scaled[RECORDS:])[:, 1], y[RECORDS:])
    lower, upper = np.quantile(x, 0.001, axis=0), np.quantile(x, 0.999, axis=0)
    bounds = [word for j in range(x.shape[1]) for word in ("--bounds", f"x{j}={lower[j]:.4g},{upper[j]:.4g}")]
    found = {}
    for epsilon in EPSILONS:
        for delta in ("0", "1e-5"):
            each = []
            for seed in SEEDS:
                model = os.path.join(folder, "model.json")
                run(command, "train", train, "--label", "y>0", *bounds, "--terms", "linear", "--held-out", "0", "--epsilon", str(epsilon), "--delta", delta,
                    "--adjacency", "replace-one", "--ledger", os.path.join(folder, f"{epsilon}{delta}{seed}.db"), "--model", model, "--replay-seed", str(seed))
                p = np.array(run(command, "predict", model, tested).split(), dtype=float)
                each.append((constant - log_loss(p, y[RECORDS:])) / (constant - best))
            found[epsilon, delta] = (float(np.mean(each)), float(np.min(each)))
    return found


def section(command, tables, part):
    print(result_page.mark("pure", rf"^{part} \| {SHOWN}", ["columns", *(f"epsilon {epsilon:g}: delta 0 (least), delta 1e-5" for epsilon in EPSILONS)], part=part))
    print("| columns | share of the class | " + " | ".join(f"epsilon {epsilon:g}: delta 0 (least), delta 1e-5" for epsilon in EPSILONS) + " |")
    print("|---|---|" + "---|" * len(EPSILONS))
    means = []
    for name, (kind, features, deviation, share, seed) in tables.items():
        x, y = made(kind, features, deviation, share, seed)
        with tempfile.TemporaryDirectory() as folder:
            found = shares(command, x, y, folder)
        means.append([[found[epsilon, delta][0] for delta in ("0", "1e-5")] for epsilon in EPSILONS])
        cells = [f"{found[epsilon, '0'][0]:.2f} ({found[epsilon, '0'][1]:.2f}), {found[epsilon, '1e-5'][0]:.2f}" for epsilon in EPSILONS]
        print(f"| {name} | {share:g} | " + " | ".join(cells) + " |", flush=True)
    print("| mean | | " + " | ".join(f"{a:.2f}, {b:.2f}" for a, b in np.mean(means, axis=0)) + " |\n")


def main(command):
    print("# Trainings with delta = 0\n")
    print("<!-- python benchmarks/pure.py SURETY -->\n")
    print(f"`surety train` with its defaults, given bounds and `--terms linear`, replace-one, {RECORDS:,} records, {len(SEEDS)} seeds; log loss on {TESTED:,} others. A share of 0 is the")
    print("constant, 1 logistic regression without privacy. In brackets: the least of the seeds ([proof](../proofs/shaped-descent.md#pure)).\n")
    print("## Tables on which steps and shares of the budget were chosen\n")
    section(command, CHOSEN_ON, "chosen on")
    print("## Tables that were named beforehand\n")
    section(command, FRESH, "named beforehand")


if __name__ == "__main__":
    main(sys.argv[1])
