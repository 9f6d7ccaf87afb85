#!/usr/bin/env python3
"""Whether more budget ever expects a worse model of the default: held-out losses of `surety train` over 20 epsilons from .1 to 8.

Run by hand, in an environment with what benchmarks/learners-requirements.txt pins:
    python benchmarks/budgets.py run SURETY FOLDER SEEDS    a file of losses for each table and seed; goes on where FOLDER stops
    python benchmarks/budgets.py page FOLDER >docs/results/budgets.md

Tables are those of benchmarks/rule.py, with the bounds -1 and 1 for every column. A fifth of the records is held out, by the seed, from which the noise is
replayed, too. So a seed's losses at two epsilons are of one split, and their differences are compared with three standard errors of their mean: with what is as rare by Student's law as that is by the normal one."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import rule

EPSILONS = [round(float(e), 3) for e in np.geomspace(0.1, 8, 20)]
TABLES = ("anes96", "fair", "SLID, wages", "OFP, hosp", "Aids2, status")
ERRORS = 3


def trained(surety, folder, words, epsilon, seed):
    run = folder / "run.db"
    run.unlink(missing_ok=True)
    said = subprocess.run(
        [surety, "train", folder / "table.csv", "--label", "label>0", "--epsilon", str(epsilon), "--delta", "1e-5", "--ledger", run,
         "--model", folder / "model.json", "--split-seed", str(seed), "--replay-seed", str(seed), "--json", *words],
        check=True, capture_output=True, text=True).stdout
    report = json.loads(said)
    scores = report["held_out_scores_not_private"]["log_loss"]
    model = json.loads((folder / "model.json").read_text())
    is_additive = any("knots" in column for column in model["features"]["columns"])
    return [scores["model"], scores["constant"], report["algorithm"] + (", additive" if is_additive else "")]


def run(surety, output, seeds):
    tables = {}
    for seed in range(1, seeds + 1):  # of all tables one after the other, so that it may be stopped
        for name in TABLES:
            path = output / f"{name.replace(' ', '_')}.{seed}.json"
            if path.exists():
                continue
            if name not in tables:
                tables[name] = rule.TABLES[name]()
            x, y = tables[name]
            columns = [f"x{j}" for j in range(x.shape[1])]
            with tempfile.TemporaryDirectory() as folder:
                pd.DataFrame(x, columns=columns).assign(label=y).to_csv(Path(folder) / "table.csv", index=False)
                words = [word for column in columns for word in ("--bounds", f"{column}=-1,1")]
                path.write_text(json.dumps([trained(surety, Path(folder), words, e, seed) for e in EPSILONS]))


def page(folder):
    found = {}
    for name in TABLES:
        files = sorted(folder.glob(f"{name.replace(' ', '_')}.*.json"))
        found[name] = [json.loads(path.read_text()) for path in files]
    rises, largest = [], (0.0, "", 0, 0)
    for name, seeds in found.items():
        losses = np.array([[cell[0] for cell in row] for row in seeds])
        for i in range(len(EPSILONS)):
            for j in range(i + 1, len(EPSILONS)):
                change = losses[:, j] - losses[:, i]
                size = change.mean() / max(change.std(ddof=1) / len(change) ** 0.5, 1e-12)
                size = stats.norm.isf(stats.t.sf(size, len(change) - 1))  # as rare under the normal law
                if size > largest[0]:
                    largest = (size, name, EPSILONS[i], EPSILONS[j])
                if size > ERRORS:
                    rises.append((name, EPSILONS[i], EPSILONS[j], change.mean(), size))
    pairs = len(EPSILONS) * (len(EPSILONS) - 1) // 2 * len(TABLES)
    print("# More budget\n")
    print("<!-- python benchmarks/budgets.py run SURETY FOLDER SEEDS && python benchmarks/budgets.py page FOLDER -->\n")
    print(f"`surety train` as it is by default, logistic loss, replace-one, delta = 1e-5, bounds for every column; {min(map(len, found.values()))} splits with noise of their")
    print(f"own for each table. Of {pairs} pairs of a smaller and a larger epsilon, the mean held-out loss is larger at the larger one by more than {ERRORS} standard errors of")
    print(f"the difference (as rare by Student's law as that is by the normal one) in {len(rises)}. The largest rise has {largest[0]:.1f} standard errors ({largest[1]}, from {largest[2]:g} to {largest[3]:g}).\n")
    if rises:
        print("| table | from epsilon | to epsilon | mean rise of the loss | standard errors |")
        print("|---|---|---|---|---|")
        for name, first, second, rise, size in rises:
            print(f"| {name} | {first:g} | {second:g} | {rise:.4f} | {size:.1f} |")
        print()
    print("Mean log loss; c where most seeds release the constant, a where terms are additive.\n")
    print("| epsilon | " + " | ".join(found) + " |")
    print("|---|" + "---|" * len(found))
    for i, epsilon in enumerate(EPSILONS):
        cells = []
        for seeds in found.values():
            ways = [row[i][2] for row in seeds]
            mark = {"constant": " c", "shaped-descent, additive": " a"}.get(max(set(ways), key=ways.count), "")
            cells.append(f"{np.mean([row[i][0] for row in seeds]):.4f}{mark}")
        print(f"| {epsilon:g} | " + " | ".join(cells) + " |")
    print("| constant | " + " | ".join(f"{np.mean([row[0][1] for row in seeds]):.4f}" for seeds in found.values()) + " |")


if __name__ == "__main__":
    if sys.argv[1] == "run":
        Path(sys.argv[3]).mkdir(parents=True, exist_ok=True)
        run(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
    else:
        page(Path(sys.argv[2]))
