"""Held-out log loss of every learner of the command beside the default's choice, on eleven data sets; and of two other tools.

Run by hand, in an environment with what benchmarks/learners-requirements.txt pins:
    python benchmarks/learners.py prepare FOLDER                  writes the sets and their splits (SURETY_DATA_DIR has the larger ones)
    python benchmarks/learners.py run FOLDER build/release/cli/surety RESULTS [SET...]     trains and scores; goes on where RESULTS stops
    python benchmarks/learners.py others FOLDER RESULTS ROW [SET...]  the same for 'interpret-core boosting' and 'diffprivlib logistic'; the
        latter wants an older scikit-learn (1.5.2), and so an environment of its own
    python benchmarks/learners.py page RESULTS FRESH RULE | scripts/result_page.py docs/results/learners.md
    python benchmarks/learners.py fresh build/release/cli/surety FRESH [SET...]       splits 10 to 34 of small sets, which nothing was fitted on, for the
        default and the rows that were best before
    python benchmarks/learners.py fresh-page FRESH      prints that part of the page alone
    python benchmarks/learners.py rule build/release/cli/surety RULE [SET...]         the default of today on three splits of four larger sets, and
        the rows that were best before
    python benchmarks/learners.py rule-page RULE        prints that part of the page alone

Replace-one, delta = 1e-5, rows of unit norm with an intercept. Columns are mapped to [-1, 1] by round bounds in the script that hold all records, assumed to be public.
Sets and splits were fixed before any rule.
"""

import bz2
import csv
import gzip
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "scripts"))
import result_page  # noqa: E402

EPSILONS = ("0.1", "0.5", "1", "2", "4", "8")
DELTA = "1e-5"

# What `--algorithm` and its options are, by the row's name.
ROWS = {
    "auto": [],
    # Every option that `surety train` would choose from public numbers is given.
    "gradient-descent": ["--algorithm", "gradient-descent", "--steps", "100", "--regularization", "1e-4"],
    "accelerated": ["--algorithm", "accelerated-gradient-descent", "--steps", "30", "--regularization", "1e-4"],
    "accelerated, clip .5": ["--algorithm", "accelerated-gradient-descent", "--clip", "0.5", "--steps", "30", "--regularization", "1e-4"],
    "accelerated, 60 steps": ["--algorithm", "accelerated-gradient-descent", "--steps", "60", "--regularization", "1e-4"],
    "accelerated, 100 steps, lambda 0": ["--algorithm", "accelerated-gradient-descent", "--steps", "100", "--regularization", "0"],
    "accelerated, 10 steps, average": ["--algorithm", "accelerated-gradient-descent", "--steps", "10", "--iterate", "average", "--regularization", "1e-4"],
    "shaped-descent": ["--algorithm", "shaped-descent"],
    "shaped-descent, 10 steps": ["--algorithm", "shaped-descent", "--steps", "10"],
    "shaped-descent, 20 steps": ["--algorithm", "shaped-descent", "--steps", "20"],
    "dp-sgd, 1 epoch": ["--algorithm", "dp-sgd", "--records", "{n}", "--batch-size", "{batch}", "--epochs", "1", "--regularization", "1e-4"],
    "dp-sgd, 5 epochs": ["--algorithm", "dp-sgd", "--records", "{n}", "--batch-size", "{batch}", "--epochs", "5", "--regularization", "1e-4"],
    "dp-sgd, 20 epochs": ["--algorithm", "dp-sgd", "--records", "{n}", "--batch-size", "{batch}", "--epochs", "20", "--regularization", "1e-4"],
    "svrg": ["--algorithm", "svrg", "--records", "{n}", "--inner-steps", "100", "--batch-size", "{small_batch}", "--regularization", "1e-4"],
    "mirror-descent, radius 5": ["--algorithm", "mirror-descent", "--radius", "5", "--steps", "30"],
    "objective-perturbation": ["--algorithm", "objective-perturbation", "--records", "{n}", "--regularization", "0.01"],
    "objective-perturbation, lambda .001": ["--algorithm", "objective-perturbation", "--records", "{n}", "--regularization", "0.001"],
    "output-perturbation": ["--algorithm", "output-perturbation", "--regularization", "0.01"],
    "share of the class alone": ["--algorithm", "constant"],
}
MOST_SPLITS = 10
# Of sets with many records, whose splits differ little: of these rows all splits, of the others three.
LARGE = 5000
ALL_SPLITS = ("auto", "shaped-descent", "accelerated, 60 steps", "gradient-descent")


# Of sets whose splits differ much, on more splits than anything was fitted on.
FRESH_SPLITS = range(10, 35)
FRESH_SETS = ("synthetic 2,000 x 10", "digits, even or odd", "anes96", "breast cancer", "fair")
RULE_SPLITS = range(3)
RULE_SETS = ("covtype.20k", "covtype_sample", "ijcnn1", "randhie")
RULE_EPSILONS = ("0.5", "1", "4")
RULE_ROWS = ("auto", "shaped-descent", "shaped-descent, 20 steps", "accelerated, clip .5", "accelerated, 60 steps", "dp-sgd, 5 epochs")
FRESH_ROWS = ("auto", "shaped-descent", "shaped-descent, 10 steps", "shaped-descent, 20 steps", "accelerated, clip .5", "accelerated, 60 steps")


def lines(path):
    opener = {".gz": gzip.open, ".bz2": bz2.open}.get(os.path.splitext(path)[1], open)
    with opener(path, "rt") as file:
        yield from file


def bounded(values, bounds):
    lower, upper = np.array(bounds, dtype=float).T
    return np.clip(2 * (values - lower) / (upper - lower) - 1, -1, 1)


def sparse_set(path, features):
    rows, labels = [], []
    for line in lines(path):
        label, *cells = line.split()
        row = np.zeros(features)
        for cell in cells:
            index, value = cell.split(":")
            row[int(index) - 1] = float(value)
        rows.append(row)
        labels.append(1 if float(label) > 0 else -1)
    return np.array(rows), np.array(labels)


def covtype(path):
    rows = []
    for line in lines(path):
        try:
            rows.append([float(cell) for cell in line.split(",")])
        except ValueError:
            continue  # the header
    rows = np.array(rows)
    bounds = [(1800, 3900), (0, 360), (0, 70), (0, 1400), (-200, 600), (0, 7200), (0, 255), (0, 255), (0, 255), (0, 7200)]
    return np.hstack([bounded(rows[:, :10], bounds), rows[:, 10:54]]), np.where(rows[:, 54] == 2, 1, -1)


def above(values):
    """The least of 1, 2, 5 times a power of ten that holds all values."""
    most = float(np.max(values))
    power = 10.0 ** math.floor(math.log10(most)) if most > 0 else 1.0
    return next(power * k for k in (1, 2, 5, 10) if power * k >= most)


def synthetic(records, features, seed):
    draws = np.random.default_rng(seed)
    x = draws.uniform(-1, 1, (records, features))
    weights = draws.normal(size=features) * 6 / math.sqrt(features)
    return x, np.where(draws.uniform(size=records) < 1 / (1 + np.exp(-(x @ weights))), 1, -1)


def sets():
    data = os.environ["SURETY_DATA_DIR"]

    def file(name):
        return os.path.join(data, name)

    def randhie():
        rows = list(csv.DictReader(open(file("randhie.csv"))))
        names = [name for name in rows[0] if name != "mdvis"]
        x = np.array([[float(row[name]) for name in names] for row in rows])
        bounds = {"lncoins": (0, 5), "lpi": (0, 8), "fmde": (0, 9), "disea": (0, 60)}
        return bounded(x, [bounds.get(name, (0, 1)) for name in names]), np.array([1 if float(row["mdvis"]) > 0 else -1 for row in rows])

    def cancer():
        from sklearn.datasets import load_breast_cancer

        found = load_breast_cancer()
        return bounded(found.data, [(0, above(column)) for column in found.data.T]), np.where(found.target == 1, 1, -1)

    def digits():
        from sklearn.datasets import load_digits

        found = load_digits()
        return bounded(found.data, [(0, 16)] * 64), np.where(found.target % 2 == 0, 1, -1)

    def fair():
        from statsmodels.datasets import fair as source

        table = source.load_pandas().data
        bounds = {"rate_marriage": (1, 5), "age": (15, 45), "yrs_married": (0, 25), "children": (0, 6), "religious": (1, 4), "educ": (9, 20),
                  "occupation": (1, 6), "occupation_husb": (1, 6)}  # fmt: skip
        return bounded(table[list(bounds)].to_numpy(), list(bounds.values())), np.where(table["affairs"] > 0, 1, -1)

    def anes96():
        from statsmodels.datasets import anes96 as source

        table = source.load_pandas().data
        bounds = {"logpopul": (-3, 9), "TVnews": (0, 7), "selfLR": (1, 7), "ClinLR": (1, 7), "DoleLR": (1, 7), "PID": (0, 6), "age": (18, 95),
                  "educ": (1, 7), "income": (1, 24)}  # fmt: skip
        return bounded(table[list(bounds)].to_numpy(), list(bounds.values())), np.where(table["vote"] == 1, 1, -1)

    return {
        "a9a": lambda: sparse_set(file("a9a.gz"), 123),
        "covtype.20k": lambda: covtype(file("covtype.20k.data.gz")),
        "covtype_sample": lambda: covtype(file("covtype_sample.csv.gz")),
        "ijcnn1": lambda: sparse_set(file("ijcnn1.trn.bz2"), 22),
        "randhie": randhie,
        "fair": fair,
        "synthetic 50,000 x 100": lambda: synthetic(50000, 100, 1),
        "synthetic 2,000 x 10": lambda: synthetic(2000, 10, 2),
        "digits, even or odd": digits,
        "anes96": anes96,
        "breast cancer": cancer,
    }


def write_libsvm(path, x, y):
    with open(path, "w") as file:
        for row, label in zip(x, y, strict=True):
            file.write(f"{label:+d} " + " ".join(f"{j + 1}:{value:.17g}" for j, value in enumerate(row) if value) + "\n")


def folder_of(folder, name):
    return os.path.join(folder, name.replace(",", "").replace(" ", "-"))


def divided(x, y, split):
    """The training and the held-out part of a split."""
    order = np.random.default_rng(1000 + split).permutation(len(y))
    cut = len(y) * 4 // 5
    return x[order[:cut]], y[order[:cut]], x[order[cut:]], y[order[cut:]]


def prepare(folder):
    for name, load in sets().items():
        x, y = load()
        where = folder_of(folder, name)
        os.makedirs(where, exist_ok=True)
        kept = {"records": len(y), "features": x.shape[1]}
        test = None
        if name == "a9a":
            test = sparse_set(os.path.join(os.environ["SURETY_DATA_DIR"], "a9a.t.gz"), 123)
        for split in range(MOST_SPLITS):
            if test:
                order = np.random.default_rng(1000 + split).permutation(len(y))
                parts = (x[order], y[order], *test)
            else:
                parts = divided(x, y, split)
            np.savez_compressed(os.path.join(where, f"{split}.npz"), **dict(zip(("x", "y", "held_x", "held_y"), parts, strict=True)))
        kept["trained"] = len(parts[1])
        json.dump(kept, open(os.path.join(where, "set.json"), "w"))
        print(f"{name}: {kept}")


class Split:
    def __init__(self, x, y, held_x, held_y):
        self.x, self.y, self.held_x, self.held_y = x, y, held_x, held_y

    @staticmethod
    def load(folder, name, split):
        found = np.load(os.path.join(folder_of(folder, name), f"{split}.npz"))
        return Split(found["x"], found["y"], found["held_x"], found["held_y"])

    @staticmethod
    def unit_rows(x):
        x = np.hstack([x, np.ones((len(x), 1))])
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    def constant(self):
        share = np.mean(self.y > 0)
        held = np.mean(self.held_y > 0)
        return -(held * math.log(share) + (1 - held) * math.log(1 - share))

    def optimum(self):
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=100.0, fit_intercept=False, max_iter=5000, tol=1e-7).fit(self.unit_rows(self.x), self.y)
        return self.loss(self.unit_rows(self.held_x) @ model.coef_[0])

    def loss(self, scores):
        return float(np.mean(np.logaddexp(0, -self.held_y * scores)))

    def loss_of_probabilities(self, p):
        p = np.clip(p, 1e-15, 1 - 1e-15)
        return float(-np.mean(np.where(self.held_y > 0, np.log(p), np.log(1 - p))))


def score(command, split, file, held, row, epsilon, seed, folder):
    """The held-out log loss, by `train` and `predict`."""
    n, d = split.x.shape
    model, ledger = os.path.join(folder, "model.json"), os.path.join(folder, "run.db")
    for path in (model, ledger):
        if os.path.exists(path):
            os.remove(path)
    options = [option.format(n=n, batch=max(1, n // 100), small_batch=max(1, n // 400)) for option in ROWS[row]]
    done = subprocess.run(
        [command, "train", file, "--format", "libsvm", "--features", str(d), "--held-out", "0", "--epsilon", epsilon, "--delta", DELTA,
         "--ledger", ledger, "--model", model, "--replay-seed", str(seed), "--json", *options], capture_output=True, text=True)  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    said = subprocess.run([command, "predict", model, held], check=True, capture_output=True, text=True).stdout
    return split.loss_of_probabilities(np.array([float(line) for line in said.split()]))


class Results:
    """A file of lines of JSON; what stands there is not run again."""

    def __init__(self, path):
        self.path = path
        self.found = {}
        if os.path.exists(path):
            for line in open(path):
                one = json.loads(line)
                self.found[(one["set"], one["row"], one["epsilon"], one["split"])] = one

    def __contains__(self, key):
        return key in self.found

    def add(self, key, loss, seconds, why=None):
        one = dict(zip(("set", "row", "epsilon", "split"), key, strict=True)) | {"loss": loss, "seconds": round(seconds, 3)}
        if why:
            one["why"] = why
        self.found[key] = one
        with open(self.path, "a") as file:
            file.write(json.dumps(one) + "\n")


def splits_of(kept, row):
    return MOST_SPLITS if kept["records"] < LARGE or row in ALL_SPLITS else 3


def run(folder, command, results, names, rows=None):
    results = Results(results)
    for name in names or sets():
        kept = json.load(open(os.path.join(folder_of(folder, name), "set.json")))
        for number in range(MOST_SPLITS):
            split = None
            with tempfile.TemporaryDirectory() as work:
                for row in rows or ("constant", "not private", *ROWS):
                    for epsilon in ("",) if row in ("constant", "not private") else EPSILONS:
                        key = (name, row, epsilon, number)
                        if number >= splits_of(kept, row) or key in results:
                            continue
                        if split is None:
                            split = Split.load(folder, name, number)
                            file, held = os.path.join(work, "train.libsvm"), os.path.join(work, "held.libsvm")
                            write_libsvm(file, split.x, split.y)
                            write_libsvm(held, split.held_x, split.held_y)
                        begin = time.perf_counter()
                        try:
                            if row == "constant":
                                loss = split.constant()
                            elif row == "not private":
                                loss = split.optimum()
                            else:
                                loss = score(command, split, file, held, row, epsilon, number + 1, work)
                        except RuntimeError as error:
                            results.add(key, None, time.perf_counter() - begin, str(error))
                            continue
                        results.add(key, loss, time.perf_counter() - begin)


def on_splits(command, path, names, splits, rows, epsilons):
    results = Results(path)
    for name in names:
        x, y = sets()[name]()
        for number in splits:
            split = Split(*divided(x, y, number))
            with tempfile.TemporaryDirectory() as work:
                file, held = os.path.join(work, "train.libsvm"), os.path.join(work, "held.libsvm")
                write_libsvm(file, split.x, split.y)
                write_libsvm(held, split.held_x, split.held_y)
                for key in [(name, "constant", "", number)] + [(name, row, e, number) for row in rows for e in epsilons]:
                    if key in results:
                        continue
                    begin = time.perf_counter()
                    loss = split.constant() if key[1] == "constant" else score(command, split, file, held, key[1], key[2], number + 1, work)
                    results.add(key, loss, time.perf_counter() - begin)


def fresh_page(path):
    losses = {}
    for (name, row, epsilon, _), one in Results(path).found.items():
        losses.setdefault((name, row, epsilon), []).append(one["loss"])
    print("## Fresh splits\n")
    print(f"Splits {FRESH_SPLITS.start} to {FRESH_SPLITS.stop - 1} of five sets, on which nothing was fitted; *regret* is over the best of the rows that were best above.\n")
    for name in FRESH_SETS:
        constant = mean_and_error(losses[(name, "constant", "")])[0]
        print(result_page.mark("learners-fresh", r"\| regret \|", ["data", "epsilon 0.1", "0.5", "1", "4"], data=name))
        print("| row | " + " | ".join(f"epsilon {e}" if e == EPSILONS[0] else e for e in EPSILONS) + " |\n|---|" + "---|" * len(EPSILONS))
        best = {e: min((mean_and_error(losses[(name, row, e)])[0], row) for row in FRESH_ROWS if row != "auto") for e in EPSILONS}
        for row in FRESH_ROWS:
            values = [mean_and_error(losses[(name, row, e)]) for e in EPSILONS]
            cells = [f"{mean:.4f} ({error:.1g})" for mean, error in values]
            print(f"| {row} | " + " | ".join(cells) + " |")
        print("| best of the others | " + " | ".join(best[e][1] for e in EPSILONS) + " |")
        ours = {e: mean_and_error(losses[(name, "auto", e)])[0] for e in EPSILONS}
        print("| regret | " + " | ".join(f"{100 * (ours[e] / best[e][0] - 1):.1f} %" for e in EPSILONS) + " |")
        print("| auto over the constant | " + " | ".join(f"{100 * (ours[e] / constant - 1):.1f} %" for e in EPSILONS) + " |\n")
    print(result_page.mark("learners-fresh-data") + "\n| data | constant | splits |\n|---|---|---|")
    for name in FRESH_SETS:
        print(f"| {name} | {mean_and_error(losses[(name, 'constant', '')])[0]:.4f} | {len(losses[(name, 'constant', '')])} |")


def rule_page(path):
    losses = {}
    for (name, row, epsilon, _), one in Results(path).found.items():
        losses.setdefault((name, row, epsilon), []).append(one["loss"])
    print("## The rule of 46 tables\n")
    print(f"Today's default on splits {RULE_SPLITS.start} to {RULE_SPLITS.stop - 1} of four sets of 5,000 records or more, linear terms: its loss, and its excess over shaped descent with its own ridge and 30 or")
    print("20 steps, and over the best other algorithm. Its larger ridge and fewer steps help tables with little to learn ([the rule](rule.md)) and cost where there is much.\n")
    print(result_page.mark("learners-rule", r"\| 1 \|"))
    print("| data | epsilon | default | over shaped descent | over other algorithms |\n|---|---|---|---|---|")
    for name in RULE_SETS:
        for epsilon in RULE_EPSILONS:
            means = {row: statistics.mean(losses[(name, row, epsilon)]) for row in RULE_ROWS}
            shaped = min(mean for row, mean in means.items() if row.startswith("shaped"))
            others = min(mean for row, mean in means.items() if row != "auto" and not row.startswith("shaped"))
            print(f"| {name} | {epsilon} | {means['auto']:.4f} | {100 * (means['auto'] / shaped - 1):.1f} % | {100 * (means['auto'] / others - 1):.1f} % |")


def boosting(split, epsilon, seed):
    from interpret.privacy import DPExplainableBoostingClassifier

    model = DPExplainableBoostingClassifier(
        epsilon=epsilon, delta=float(DELTA), composition="gdp", random_state=seed, n_jobs=1,
        privacy_bounds=np.array([[-1.0, 1.0]] * split.x.shape[1]))  # fmt: skip
    model.fit(split.x, split.y)
    return split.loss_of_probabilities(model.predict_proba(split.held_x)[:, 1])


def output_perturbed(split, epsilon, seed):
    from diffprivlib.models import LogisticRegression

    model = LogisticRegression(epsilon=epsilon, data_norm=1.0, fit_intercept=False, random_state=seed)
    model.fit(split.unit_rows(split.x), split.y)
    return split.loss_of_probabilities(model.predict_proba(split.unit_rows(split.held_x))[:, 1])


OTHERS = {"interpret-core boosting": boosting, "diffprivlib logistic": output_perturbed}


def others(folder, results, row, names):
    import warnings

    warnings.simplefilter("ignore")
    results = Results(results)
    for name in names or sets():
        for number in range(3):
            split = Split.load(folder, name, number)
            for epsilon in EPSILONS:
                key = (name, row, epsilon, number)
                if key in results:
                    continue
                begin = time.perf_counter()
                loss = OTHERS[row](split, float(epsilon), number + 1)
                results.add(key, loss, time.perf_counter() - begin)


def mean_and_error(values):
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def page(path):
    found = Results(path).found
    losses, refused = {}, {}
    for (name, row, epsilon, number), one in found.items():
        if one["loss"] is None:
            refused[row] = one["why"]
        else:
            losses.setdefault((name, row, epsilon), {})[number] = one["loss"]
    names = [name for name in sets() if any(key[0] == name for key in losses)]

    def mean(name, row, epsilon):
        values = losses.get((name, row, epsilon))
        return mean_and_error(list(values.values())) if values else None

    print("# Default learner against all learners\n")
    print(__doc__.split("\n\n", 2)[2].strip() + "\n")
    print("Made by `benchmarks/learners.py`: means over splits (standard error, of splits and noise together); a9a is scored on its own test file.")
    print("The thresholds of the rule were fitted on the first two to four splits of these sets, so on other sets it may")
    print("lose more ([fresh splits](#fresh-splits)). Rows of other tools are from three splits of five sets.")
    print("*Regret* is the default's loss over that of the best other row in hindsight, minus 1.\n")
    regrets, lines = {}, []
    for name in names:
        constant = mean(name, "constant", "")
        lines.append(result_page.mark("learners", r"^(a9a|randhie|fair|synthetic 50|digits|breast).*\| auto \|", ["data", "0.5", "1", "4"], data=name))
        lines.append("| row | " + " | ".join(f"epsilon {e}" if e == EPSILONS[0] else e for e in EPSILONS) + " | splits |")
        lines.append("|---|" + "---|" * (len(EPSILONS) + 1))
        best = {}
        for epsilon in EPSILONS:
            ours = losses.get((name, "auto", epsilon), {})
            for row in ROWS:
                theirs = losses.get((name, row, epsilon))
                if row == "auto" or not theirs:
                    continue
                shared = sorted(set(theirs) & set(ours))
                here = statistics.mean(theirs[number] for number in shared)
                if epsilon not in best or here < best[epsilon][0]:
                    best[epsilon] = (here, row, statistics.mean(ours[number] for number in shared))
        rows = [*ROWS, *OTHERS]
        for row in rows:
            cells = []
            for epsilon in EPSILONS:
                value = mean(name, row, epsilon)
                text = f"{value[0]:.4f} ({value[1]:.1g})" if value else "-"
                cells.append(text)
            if any(cell != "-" for cell in cells):
                lines.append(f"| {row} | " + " | ".join(cells) + f" | {max(len(losses.get((name, row, e), {})) for e in EPSILONS)} |")
        cells = []
        for epsilon in EPSILONS:
            if epsilon in best:
                here, _, ours = best[epsilon]
                regrets[(name, epsilon)] = (max(0.0, ours / here - 1), mean(name, "auto", epsilon)[0] / constant[0] - 1)
                cells.append(f"{100 * (ours / here - 1):.1f} %")
            else:
                cells.append("-")
        lines.append("| best of the others | " + " | ".join(best[e][1] if e in best else "-" for e in EPSILONS) + " | |")
        lines.append("| regret | " + " | ".join(cells) + " | |\n")
    print("## In all\n")
    print("| sets | " + " | ".join(EPSILONS) + " |\n|---|" + "---|" * len(EPSILONS))
    small = ("synthetic 2,000 x 10", "digits, even or odd", "anes96", "breast cancer")
    for title, wanted, part in (("mean regret", statistics.mean, names), ("worst", max, names),
                                (f"worst, of {LARGE:,} records and more", max, [name for name in names if name not in small]),
                                ("mean, of fewer", statistics.mean, [name for name in names if name in small])):  # fmt: skip
        cells = [wanted([regrets[(name, e)][0] for name in part if (name, e) in regrets] or [math.nan]) for e in EPSILONS]
        print(f"| {title} | " + " | ".join(f"{100 * cell:.1f} %" for cell in cells) + " |")
    worse = [f"{name} at {epsilon} ({100 * over:.1f} %)" for (name, epsilon), (_, over) in regrets.items() if over > 0.01]
    print(f"\nMore than 1 % above the constant: {', '.join(worse) if worse else 'nowhere'}.")
    if refused:
        print(f"\nRefused somewhere: {'; '.join(sorted(refused))}.")
    print("\n## The default\n")
    print("\n".join(lines))
    print(result_page.mark("learners-data") + "\n| data | constant | not private |\n|---|---|---|")
    for name in names:
        print(f"| {name} | {mean(name, 'constant', '')[0]:.4f} | {mean(name, 'not private', '')[0]:.4f} |")


def main():
    what, *rest = sys.argv[1:]
    if what == "prepare":
        prepare(rest[0])
    elif what == "run":
        run(rest[0], rest[1], rest[2], rest[3:])
    elif what == "others":
        others(rest[0], rest[1], rest[2], rest[3:])
    elif what == "fresh":
        on_splits(rest[0], rest[1], rest[2:] or FRESH_SETS, FRESH_SPLITS, FRESH_ROWS, EPSILONS)
    elif what == "fresh-page":
        fresh_page(rest[0])
    elif what == "rule":
        on_splits(rest[0], rest[1], rest[2:] or RULE_SETS, RULE_SPLITS, RULE_ROWS, RULE_EPSILONS)
    elif what == "rule-page":
        rule_page(rest[0])
    elif what == "page":
        page(rest[0])
        if len(rest) > 1:
            print()
            fresh_page(rest[1])
        if len(rest) > 2:
            print()
            rule_page(rest[2])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
