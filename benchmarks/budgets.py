#!/usr/bin/env python3
"""Whether more budget ever expects a worse model of the default: held-out losses of `surety train` over 20 epsilons from .1 to 8.

Run by hand, in an environment with what benchmarks/learners-requirements.txt pins:
    python benchmarks/budgets.py run SURETY FOLDER PART SEEDS    PART is logistic, squares, classes or owners; a file of losses for each table
        and seed; goes on where FOLDER stops
    python benchmarks/budgets.py page FOLDER logistic | scripts/result_page.py docs/results/budgets.md
    python benchmarks/budgets.py page FOLDER squares classes owners | scripts/result_page.py docs/results/other-budgets.md

Tables of logistic loss are those of benchmarks/rule.py, with the bounds -1 and 1 for every column, the others those of benchmarks/other_terms.py and
benchmarks/owners.py. A fifth of the records or owners is held out, by the seed, from which the noise is replayed, too. So a seed's losses at two epsilons are
of one split, and their differences are compared with three standard errors of their mean: with what is as rare by Student's law as that is by the normal one.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "scripts"))
import other_terms
import owners
import result_page
import rule

EPSILONS = [round(float(e), 3) for e in np.geomspace(0.1, 8, 20)]
ERRORS = 3
TABLES = {
    "logistic": ("anes96", "fair", "SLID, wages", "OFP, hosp", "Aids2, status"),
    "squares": ("fair, affairs", "SLID, wages", "randhie, visits", "MedExp, disease", "anes96, party"),
    "classes": ("chile: vote", "SLID: third of wages", "yogurt: brand"),
    "owners": ("wage panel, log loss", "wage panel, squared error"),
}


# A table, its words for `train`, and the score that counts.


def of_rule(name):
    x, y = rule.TABLES[name]()
    columns = [f"x{j}" for j in range(x.shape[1])]
    words = [word for column in columns for word in ("--bounds", f"{column}=-1,1")]
    return pd.DataFrame(x, columns=columns).assign(label=y), ["--label", "label>0", *words], owners.LOGISTIC


def of_squares(name):
    frame, labels = other_terms.frame_and_labels(other_terms.SQUARES[name])
    words = ["--label", "label", "--loss", "squared", "--label-bound", "1", *frame.options]
    return frame.columns.assign(label=other_terms.mapped_labels(labels)), words, owners.SQUARED


def of_classes(name):
    frame, labels = other_terms.frame_and_labels(other_terms.CLASSES[name])
    keys = sorted(labels.astype(str).unique())
    codes = labels.astype(str).map({key: str(place) for place, key in enumerate(keys)})
    return frame.columns.assign(label=codes), ["--label", "label", "--classes", ",".join(map(str, range(len(keys)))), *frame.options], owners.LOGISTIC


def of_owners(name):
    panels = {panel: words for panel, *words in owners.panels()}
    panel = panels[name.rpartition(", ")[0]][0]
    score = owners.LOGISTIC if name.endswith("log loss") else owners.SQUARED
    return panel.table, [*panel.options, *panel.problem(score), "--unit", panel.owner, "--most", str(panel.most), "--records", str(panel.units)], score


LOADERS = {"logistic": of_rule, "squares": of_squares, "classes": of_classes, "owners": of_owners}


def trained(surety, folder, words, score, epsilon, seed):
    run = folder / "run.db"
    run.unlink(missing_ok=True)
    said = subprocess.run(
        [surety, "train", folder / "table.csv", *words, "--epsilon", str(epsilon), "--delta", "1e-5", "--adjacency", "replace-one", "--ledger", run,
         "--model", folder / "model.json", "--split-seed", str(seed), "--replay-seed", str(seed), "--json"],
        check=True, capture_output=True, text=True).stdout
    report = json.loads(said)
    scores = report["held_out_scores_not_private"][score]
    model = json.loads((folder / "model.json").read_text())
    is_additive = any("knots" in column for column in model["features"]["columns"])
    return [scores["model"], scores["constant"], report["algorithm"] + (", additive" if is_additive else "")]


def file_of(folder, part, name, seed):
    return folder / part / f"{name.replace(' ', '_')}.{seed}.json"


def run(surety, output, part, seeds):
    (output / part).mkdir(parents=True, exist_ok=True)
    tables = {}
    for seed in range(1, seeds + 1):  # of all tables one after the other, so that it may be stopped
        for name in TABLES[part]:
            path = file_of(output, part, name, seed)
            if path.exists():
                continue
            if name not in tables:
                tables[name] = LOADERS[part](name)
            table, words, score = tables[name]
            with tempfile.TemporaryDirectory() as folder:
                table.to_csv(Path(folder) / "table.csv", index=False)
                path.write_text(json.dumps([trained(surety, Path(folder), words, score, e, seed) for e in EPSILONS]))


# The page.

TITLES = {"logistic": "logistic loss", "squares": "squared loss", "classes": "several classes", "owners": "owners of several rows"}
NOTES = {
    "classes": "On chile, with few records of a feature, curves have a larger ridge, fitted on other tables ([other terms](other-terms.md)).",
}
MARKS = {"constant": " c", "sufficient-statistics": " s"}


def rises_of(found):
    """Of each pair of a smaller and a larger epsilon where the loss rises: how many standard errors, the table, both epsilons, by how much."""
    for name, seeds in found.items():
        losses = np.array([[cell[0] for cell in row] for row in seeds])
        for i in range(len(EPSILONS)):
            for j in range(i + 1, len(EPSILONS)):
                change = losses[:, j] - losses[:, i]
                size = change.mean() / max(change.std(ddof=1) / len(change) ** 0.5, 1e-12)
                if size > 0:
                    yield stats.norm.isf(stats.t.sf(size, len(change) - 1)), name, EPSILONS[i], EPSILONS[j], change.mean()  # as rare under the normal law


def mark_of(ways):
    way = collections.Counter(ways).most_common(1)[0][0]
    return MARKS.get(way.removesuffix(", additive"), "") + (" a" if way.endswith(", additive") else "")


def part_of_page(part, found):
    rises = sorted(rises_of(found), reverse=True)
    pairs = len(EPSILONS) * (len(EPSILONS) - 1) // 2 * len(found)
    beyond = [one for one in rises if one[0] > ERRORS]
    print(f"{TITLES[part].capitalize()}, {min(map(len, found.values()))} splits. The mean held-out loss is larger at the larger epsilon by more than {ERRORS} standard errors for {len(beyond)} of {pairs} pairs of epsilons."
          + (f" The largest rise has {rises[0][0]:.1f} standard errors ({rises[0][1]}, from {rises[0][2]:g} to {rises[0][3]:g}).\n" if rises else "\n"))
    if part in NOTES:
        print(NOTES[part] + "\n")
    if beyond:
        print("| table | from epsilon | to epsilon | mean rise of the loss | standard errors |")
        print("|---|---|---|---|---|")
        for size, name, first, second, rise in beyond:
            print(f"| {name} | {first:g} | {second:g} | {rise:.4f} | {size:.1f} |")
        print()
    print(result_page.mark(f"budgets-{part}", keep=r"^(0.1|0.317|1.004|3.18|8|constant) "))
    print("| epsilon | " + " | ".join(found) + " |")
    print("|---|" + "---|" * len(found))
    for i, epsilon in enumerate(EPSILONS):
        cells = [f"{np.mean([row[i][0] for row in seeds]):.4f}{mark_of([row[i][2] for row in seeds])}" for seeds in found.values()]
        print(f"| {epsilon:g} | " + " | ".join(cells) + " |")
    print("| constant | " + " | ".join(f"{np.mean([row[0][1] for row in seeds]):.4f}" for seeds in found.values()) + " |")


def page(folder, parts):
    print("# More budget" + ("" if parts == ["logistic"] else ", by other losses") + "\n")
    runs = " && ".join(f"python benchmarks/budgets.py run SURETY FOLDER {part} SEEDS" for part in parts)
    print(f"<!-- {runs} && python benchmarks/budgets.py page FOLDER {' '.join(parts)} -->\n")
    print("`surety train` with its defaults, replace-one, delta = 1e-5, bounds or categories for every column; each split has its own noise.")
    print("Tables show mean losses: c where most seeds release the constant, s sufficient statistics, a additive terms.")
    for part in parts:
        print()
        if len(parts) > 1:
            print(f"## {TITLES[part].capitalize()}\n")
        paths = {name: sorted((folder / part).glob(f"{name.replace(' ', '_')}.*.json")) for name in TABLES[part]}
        part_of_page(part, {name: [json.loads(path.read_text()) for path in found] for name, found in paths.items() if found})


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(sys.argv[2], Path(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
    else:
        page(Path(sys.argv[2]), sys.argv[3:])
