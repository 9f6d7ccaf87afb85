"""Where hat functions of bounded columns beside the columns themselves help: what `--terms auto` was fitted on, each table judged by what the others choose.

Run by hand, in an environment with what benchmarks/learners-requirements.txt pins:
    python benchmarks/terms.py fit FOLDER [TABLE...]    a file of losses for each table; goes on where FOLDER stops (SURETY_DATA_DIR has the larger tables)
    python benchmarks/terms.py page FOLDER | scripts/result_page.py docs/results/terms.md

Tables, splits, shaped descent and its rule are those of benchmarks/rule.py; of more than 20,000 rows so many are drawn once. Every column that is not one of
the 0 and 1 of a text counts as one with bounds, also where it has two values: the map must not look at the data. Tables of sparse features have no bounds.
"""

import collections
import json
import os
import sys

import numpy as np
from sklearn.linear_model import LogisticRegression

import rule
import result_page

EPSILONS = (0.1, 0.5, 1, 2, 4, 8)
KNOTS = (4, 8)
LIMITS = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4)
FAMILY = [(knots, limit) for knots in KNOTS for limit in LIMITS]
CHOSEN = (8, 0.1)
MOST_ROWS = 20_000
MOST_FEATURES = 1024
WITHOUT_BOUNDS = ("a9a", "ijcnn1, 50,000 rows", "made: 700 sparse columns")


def hats(number, knots):
    place = (number + 1) / 2 * (knots - 1)
    left = np.minimum(place.astype(int), knots - 2)
    rows = np.arange(len(number))
    values = np.zeros((len(number), knots))
    values[rows, left] = 1 - (place - left)
    values[rows, left + 1] = place - left
    return values


def with_terms(x, knots):
    """`knots` hat functions beside each column that is below 0 somewhere; rows of unit norm with an intercept."""
    columns = [x]
    if knots:
        columns += [hats(column, knots) for column in x.T if column.min() < 0]
    x = np.column_stack([*columns, np.ones(len(x))])
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def fit(folder, name):
    path = os.path.join(folder, name.replace(" ", "_") + ".json")
    if os.path.exists(path) or name in WITHOUT_BOUNDS:
        return
    plain, y = rule.TABLES[name]()
    if len(y) > MOST_ROWS:
        drawn = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
        plain, y = plain[drawn], y[drawn]
    n = len(y)
    bounded = int((plain.min(axis=0) < 0).sum())
    splits = 3 if n > 5000 else 6
    losses = collections.defaultdict(list)  # by terms and epsilon: share of each split and seed
    features, nus = {}, {}
    ends = []
    for knots in (0, *KNOTS):
        d = plain.shape[1] + 1 + knots * bounded
        features[knots] = d
        if d > MOST_FEATURES:
            continue
        x = with_terms(plain, knots)
        for split in range(splits):
            trained, held = rule.parts(n, split)
            second_moment = x[trained].T @ x[trained]
            if knots == 0:
                model = LogisticRegression(C=1e3, fit_intercept=False, max_iter=300).fit(x[trained], y[trained])
                ends.append((rule.loss_of_share(y[held], y[trained].mean()), rule.log_loss(y[held], x[held] @ model.coef_[0])))
            none, best = ends[split]
            for epsilon in EPSILONS:
                mu = rule.mu_of(epsilon)
                nu = 2 * d / (len(trained) * mu)
                nus[knots, epsilon] = nu
                if knots and nu > LIMITS[-1]:
                    continue
                for seed in range(2):
                    random = np.random.default_rng([split, seed, round(10 * epsilon)])
                    choice = rule.rule(nu, rule.CHOSEN)
                    if choice is None:
                        loss = rule.loss_of_share(y[held], rule.constant(y[trained], mu, random))
                    else:
                        loss = rule.log_loss(y[held], x[held] @ rule.shaped_descent(x[trained], y[trained], second_moment, mu, *choice, random))
                    losses[knots, epsilon].append((none - loss) / (none - best))
    rows = [[knots, epsilon, nus[knots, epsilon], float(np.mean(values)), float(np.std(values, ddof=1) / len(values) ** 0.5)]
            for (knots, epsilon), values in losses.items()]
    with open(path, "w") as file:
        json.dump({"name": name, "n": len(trained), "bounded": bounded, "features": features, "ends": ends, "rows": rows}, file)
    print(name, n, features, flush=True)


def cut(share):
    return min(max(share, -1), 2)


def page(folder):
    tables = rule.results(folder)
    cells = {(t["name"], knots, e): (nu, share, error) for t in tables for knots, e, nu, share, error in t["rows"]}
    names = [t["name"] for t in tables]

    def share(name, epsilon, member):
        knots, limit = member
        found = cells.get((name, knots, epsilon))
        return found[1] if found and found[0] <= limit else cells[name, 0, epsilon][1]

    def gain(name, epsilon, member):
        return cut(share(name, epsilon, member)) - cut(cells[name, 0, epsilon][1])

    worth = np.array([[np.mean([gain(name, e, member) for e in EPSILONS]) for name in names] for member in FAMILY])
    left_out = {name: FAMILY[int(np.argmax(worth.sum(1) - worth[:, i]))] for i, name in enumerate(names)}
    picks = collections.Counter(left_out.values())
    print("# Linear and additive terms\n")
    print("<!-- python benchmarks/terms.py fit FOLDER && python benchmarks/terms.py page FOLDER -->\n")
    print(f"{len(tables)} tables of [the rule's](rule.md), logistic loss, replace-one, delta = 1e-5, rows of unit norm. 0 is the constant, 1 logistic regression on")
    print("linear terms without privacy. Means cut shares at -1 and 2. Every column with bounds gets hat functions where nu of all features, hat functions included, is at most a limit.")
    print("The other tables choose the limit and the number of knots of each table (`benchmarks/terms.py`). Tables of sparse features are left out: they have no bounds.\n")
    print("Mean rise of the share by additive terms, over all tables:\n")
    print(result_page.mark("terms-knots", r".", ["knots", "nu <= 0.05", "nu <= 0.1", "nu <= 0.2"]))
    print("| knots | " + " | ".join(f"nu <= {limit:g}" for limit in LIMITS) + " |")
    print("|---|" + "---|" * len(LIMITS))
    for knots in KNOTS:
        print(f"| {knots} | " + " | ".join(f"{worth[FAMILY.index((knots, limit))].mean():+.4f}" for limit in LIMITS) + " |")
    print("\nChosen by the other tables: " + "; ".join(f"{knots} knots and nu <= {limit:g} for {count} tables" for (knots, limit), count in picks.most_common()) + ".")
    print(f"The rule: {CHOSEN[0]} knots, nu <= {CHOSEN[1]:g}.\n")
    print(result_page.mark("terms-epsilon", r"^(0\.5|1|4) \|"))
    print("| epsilon | linear: mean share | what others chose | the rule | tables where it takes additive terms | of these better, worse by two standard errors | largest loss |")
    print("|---|---|---|---|---|---|---|")
    for e in EPSILONS:
        taken = [name for name in names if (name, CHOSEN[0], e) in cells and cells[name, CHOSEN[0], e][0] <= CHOSEN[1]]
        changes = {name: gain(name, e, CHOSEN) for name in taken}
        error = {name: max((cells[name, 0, e][2] ** 2 + cells[name, CHOSEN[0], e][2] ** 2) ** 0.5, 1e-9) for name in taken}
        better = sum(changes[name] > 2 * error[name] for name in taken)
        worse = sum(changes[name] < -2 * error[name] for name in taken)
        least = min(changes, key=changes.get, default=None)
        print(f"| {e:g} | {np.mean([cut(cells[name, 0, e][1]) for name in names]):.3f} | {np.mean([cut(share(name, e, left_out[name])) for name in names]):.3f} | "
              f"{np.mean([cut(share(name, e, CHOSEN)) for name in names]):.3f} | {len(taken)} | {better}, {worse} | "
              + (f"{changes[least]:+.3f} ({least})" if least and changes[least] < 0 else "none") + " |")
    print("\nWhere the truth is linear, curves are pure noise and cost most where a class is rare. `--terms linear` removes them.")
    print("\nA row has the share of linear terms, and that of additive terms where nu is at most .4 (bold where the rule takes them).\n")
    print(result_page.mark("terms"))
    print("| table | rows | features: linear, additive | columns with bounds | " + " | ".join(f"{e:g}" for e in EPSILONS) + " |")
    print("|---|---|---|---|" + "---|" * len(EPSILONS))
    for t in tables:
        shown = []
        for e in EPSILONS:
            other = cells.get((t["name"], CHOSEN[0], e))
            text = f"{cells[t['name'], 0, e][1]:.2f}"
            if other:
                text += f" **{other[1]:.2f}**" if other[0] <= CHOSEN[1] else f" {other[1]:.2f}"
            shown.append(text)
        print(f"| {t['name']} | {t['n']:,} | {t['features']['0']}, {t['features'][str(CHOSEN[0])]} | {t['bounded']} | " + " | ".join(shown) + " |")


if __name__ == "__main__":
    if sys.argv[1] == "fit":
        os.makedirs(sys.argv[2], exist_ok=True)
        for one in sys.argv[3:] or rule.TABLES:
            fit(sys.argv[2], one)
    else:
        page(sys.argv[2])
