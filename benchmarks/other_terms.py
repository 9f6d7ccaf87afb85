"""Where hat functions of bounded columns help squared loss, several classes and owners: what `--terms auto` was fitted on beyond benchmarks/terms.py.

Run by hand, in an environment with what benchmarks/learners-requirements.txt pins:
    python benchmarks/other_terms.py fit SURETY FOLDER PART SPLITS...    PART is squares, moments, classes or owners; a file of losses for each table
        and split; goes on where FOLDER stops
    python benchmarks/other_terms.py page FOLDER | scripts/result_page.py docs/results/other-terms.md

`surety train` with --terms linear and with --terms additive, each with the algorithm and options that the rule takes for its number of features; replace-one,
delta = 1e-5. The seed of a split is that of the noise. A table is judged by what the others choose.
"""

import collections
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression

import frames
import owners
import rule
import result_page

EPSILONS = (0.5, 1, 2, 4, 8)
LIMITS = (0, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)  # 0: linear throughout
MOST_NOISE = 0.3  # nu of additive terms beyond which they are not tried
KNOTS = 8
MOST_ROWS = 12_000
MOST_FEATURES = 1024
LEAST_GAIN = 0.01  # of the constant's loss: where less can be learned without privacy, a share would say nothing


# Tables of squared loss: a column, which ones are left out, and texts among the numbers.


def packaged(name, label, dropped=(), categories=()):
    return lambda: (frames.packaged(name), label, dropped, categories)


def survey(name, label, dropped=(), categories=()):
    def load():
        import statsmodels.api as models

        return getattr(models.datasets, name).load_pandas().data, label, dropped, categories

    return load


def bundled(name):
    def load():
        from sklearn import datasets

        table = getattr(datasets, name)(as_frame=True)
        return table.data.assign(label=table.target), "label", (), ()

    return load


def visits():
    return pd.read_csv(os.path.join(rule.data_folder(), "randhie.csv")), "mdvis", (), ()


def cover(label):
    def load():
        import gzip

        with gzip.open(os.path.join(rule.data_folder(), "covtype.20k.data.gz"), "rt") as file:
            rows = np.array([[float(x) for x in line.replace(",", " ").split()] for line in file])
        table = pd.DataFrame(rows[:, :10], columns=[f"n{j}" for j in range(10)])
        return table.assign(area=rows[:, 10:14].argmax(1).astype(str), soil=rows[:, 14:54].argmax(1).astype(str)), f"n{label}", (), ()

    return load


def made(n, d, seed, curves, noise):
    """A sum of curves and of lines of numbers between -1 and 1: `curves` of d columns have one."""

    def load():
        random = np.random.default_rng(seed)
        x = random.uniform(-1, 1, (n, d))
        score = x @ random.normal(size=d)
        for j in range(curves):
            score += 3 * np.sin(random.uniform(2, 5) * x[:, j] + random.uniform(0, 6))
        table = pd.DataFrame(x, columns=[f"x{j}" for j in range(d)])
        return table.assign(label=score + noise * score.std() * random.normal(size=n)), "label", (), ()

    return load


SQUARES = {
    "randhie, visits": visits,
    "covtype.20k, elevation": cover(0),
    "covtype.20k, shade at noon": cover(7),
    "covtype.20k, distance to roads": cover(5),
    "fair, affairs": survey("fair", "affairs", (), ("occupation", "occupation_husb")),
    "anes96, party": survey("anes96", "PID", ("vote",)),
    "diabetes": bundled("load_diabetes"),
    "diamonds, price": packaged("ggplot2/diamonds", "price"),
    "diamonds, table": packaged("ggplot2/diamonds", "table"),
    "Wages1, wage": packaged("Ecdat/Wages1", "wage"),
    "SLID, wages": packaged("car/SLID", "wages"),
    "Vocab, vocabulary": packaged("car/Vocab", "vocabulary"),
    "HI, hours": packaged("Ecdat/HI", "whrswk", ("wght",)),
    "VietNamH, expenses": packaged("Ecdat/VietNamH", "lnexp12m", ("lnmed", "commune")),
    "VietNamI, household expenses": packaged("Ecdat/VietNamI", "lnhhexp", ("commune",)),
    "MedExp, disease": packaged("Ecdat/MedExp", "ndisease"),
    "DoctorContacts, visits": packaged("Ecdat/DoctorContacts", "mdu"),
    "BudgetFood, share of food": packaged("Ecdat/BudgetFood", "wfood", (), ("town",)),
    "BudgetUK, share of food": packaged("Ecdat/BudgetUK", "wfood", ("wfuel", "wcloth", "walc", "wtrans", "wother")),
    "Computers, price": packaged("Ecdat/Computers", "price"),
    "Star, mathematics": packaged("Ecdat/Star", "tmathssk", ("treadssk", "schidkn")),
    "Males, wage": packaged("Ecdat/Males", "wage", ("nr",)),
    "Schooling, wage": packaged("Ecdat/Schooling", "lwage76", ("wage76", "iqscore", "kww")),
    "OFP, visits": packaged("Ecdat/OFP", "ofp"),
    "Tobacco, expenditure": packaged("Ecdat/Tobacco", "lnx"),
    "flchain, kappa": packaged("survival/flchain", "kappa", ("lambda", "creatinine", "chapter", "flc.grp")),
    "bfi, age": packaged("psych/bfi", "age"),
    "nlschools, language": packaged("MASS/nlschools", "lang", ("class",)),
    "azpro, days": packaged("COUNT/azpro", "los", ("hospital",)),
    "movies, rating": packaged("ggplot2/movies", "rating", ("title", "budget", "mpaa", *(f"r{j}" for j in range(1, 11)))),
    "quakes, stations": packaged("datasets/quakes", "stations"),
    "nitrogen oxides": packaged("robustbase/NOxEmissions", "LNOx"),
    "made: lines, 20,000 x 20": made(20_000, 20, 1, 0, 0.3),
    "made: lines, 2,000 x 10": made(2_000, 10, 2, 0, 0.5),
    "made: three curves, 20,000 x 10": made(20_000, 10, 3, 3, 0.3),
    "made: three curves, 3,000 x 6": made(3_000, 6, 4, 3, 0.5),
    "made: one curve, 20,000 x 40": made(20_000, 40, 5, 1, 0.5),
    "made: hardly any signal": made(5_000, 10, 6, 0, 5),
}


def frame_and_labels(source):
    table, label, dropped, categories = source()
    table = table.drop(columns=list(dropped)).dropna().reset_index(drop=True)
    if len(table) > MOST_ROWS:
        table = table.iloc[np.random.default_rng(0).permutation(len(table))[:MOST_ROWS]].reset_index(drop=True)
    return frames.Frame(table.drop(columns=[label]), categories), table[label]


def nu_of(features, trained, epsilon):
    return 2 * features / (trained * rule.mu_of(epsilon))


def both_terms(trained, frame, epsilons):
    """(terms, epsilon, nu of all features) of what is tried."""
    for terms in ("linear", "additive"):
        d = frame.x.shape[1] + 1 + (KNOTS * frame.bounded() if terms == "additive" else 0)
        for epsilon in epsilons:
            nu = nu_of(d, trained, epsilon)
            if terms == "linear" or (frame.bounded() and nu <= MOST_NOISE and d <= MOST_FEATURES):
                yield terms, epsilon, nu


def mapped_labels(labels):
    """Between -1 and 1, by rounded quantiles."""
    bound = [rule.rounded(value, up) for value, up in zip(np.quantile(labels.astype(float), [0.002, 0.998]), (False, True), strict=True)]
    return np.clip(2 * (labels.to_numpy(float) - bound[0]) / (bound[1] - bound[0]) - 1, -1, 1)


def squares(surety, source, split):
    frame, labels = frame_and_labels(source)
    y = mapped_labels(labels)
    rows = []
    trained, held = rule.parts(len(y), split)

    def loss(scores):
        return float(np.mean((scores - y[held]) ** 2))

    ends = loss(y[trained].mean()), loss(LinearRegression().fit(frame.x[trained], y[trained]).predict(frame.x[held]))
    with tempfile.TemporaryDirectory() as folder:
        frames.write(Path(folder), frame, y, trained, held)
        for terms, epsilon, nu in both_terms(len(trained), frame, EPSILONS):
            _, said = frames.train(surety, Path(folder), [*frame.options, "--loss", "squared", "--terms", terms], ["--label", "label", "--label-bound", "1"], epsilon, split + 1)
            rows.append([terms, epsilon, nu, *ends, loss(np.array(said, float))])
    return {"n": len(trained), "features": frame.x.shape[1] + 1, "bounded": frame.bounded(), "rows": rows}


MOMENTS = {"moments": ["--algorithm", "sufficient-statistics"], "descent": ["--algorithm", "shaped-descent", "--steps", "10", "--clip-share", "1", "--clip", "0.6"]}
FEW_FEATURES, LITTLE_NOISE = 15, 0.012


def moments(surety, source, split):
    """Sufficient statistics and shaped descent where the first may be chosen; nothing of many features."""
    frame, labels = frame_and_labels(source)
    d = frame.x.shape[1] + 1
    if d > FEW_FEATURES:
        return {"rows": []}
    y = mapped_labels(labels)
    trained, held = rule.parts(len(y), split)

    def loss(scores):
        return float(np.mean((scores - y[held]) ** 2))

    ends = loss(y[trained].mean()), loss(LinearRegression().fit(frame.x[trained], y[trained]).predict(frame.x[held]))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        frames.write(Path(folder), frame, y, trained, held)
        for epsilon in EPSILONS:
            nu = nu_of(d, len(trained), epsilon)
            for lengths in ("scaled", "unit") if nu <= LITTLE_NOISE else ():
                for how, words in MOMENTS.items():
                    asked = [*frame.options, "--loss", "squared", "--terms", "linear", *(["--rows", "scaled"] if lengths == "scaled" else []), *words]
                    _, said = frames.train(surety, Path(folder), asked, ["--label", "label", "--label-bound", "1"], epsilon, split + 1)
                    rows.append([lengths, how, epsilon, nu, loss(np.array(said, float))])
    return {"n": len(trained), "features": d, "ends": ends, "rows": rows}


# Several classes.


def cover_types(name):
    def load():
        import gzip

        with gzip.open(os.path.join(rule.data_folder(), name), "rt") as file:
            lines = [line.replace(",", " ").split() for line in file]
        rows = np.array([[float(x) for x in line] for line in lines if not any(c.isalpha() for c in line[0])])
        table = pd.DataFrame(rows[:, :10], columns=[f"n{j}" for j in range(10)])
        table = table.assign(area=rows[:, 10:14].argmax(1).astype(str), soil=rows[:, 14:54].argmax(1).astype(str))
        return table.assign(label=rows[:, -1].astype(int).astype(str)), "label", (), ()

    return load


def made_classes(n, d, classes, seed, curves):
    def load():
        random = np.random.default_rng(seed)
        x = random.uniform(-1, 1, (n, d))
        scores = x @ random.normal(scale=1.5, size=(d, classes))
        for j in range(curves):
            scores += 2 * np.sin(random.uniform(2, 5, size=classes) * x[:, [j]] + random.uniform(0, 6, size=classes))
        label = (scores + random.gumbel(size=scores.shape)).argmax(1).astype(str)
        return pd.DataFrame(x, columns=[f"x{j}" for j in range(d)]).assign(label=label), "label", (), ()

    return load


def thirds(source, label):
    """Which third of its values a number is in."""

    def load():
        table, _, dropped, categories = source()
        table = table[table[label].notna()]
        cuts = np.quantile(table[label], [1 / 3, 2 / 3])
        return table.assign(**{label: np.searchsorted(cuts, table[label]).astype(str)}), label, dropped, categories

    return load


CLASSES = {
    "catsup: brand": packaged("Ecdat/Catsup", "choice", ["id"]),
    "movies: rating": packaged("ggplot2/movies", "mpaa", ["title", "budget"]),
    "males: industry": packaged("plm/Males", "industry", ["nr"]),
    "chile: vote": packaged("car/Chile", "vote"),
    "doctor: health": packaged("Ecdat/DoctorContacts", "health"),
    "cover, balanced": cover_types("covtype.20k.data.gz"),
    "cover": cover_types("covtype_sample.csv.gz"),
    "cracker: brand": packaged("Ecdat/Cracker", "choice", ["id"]),
    "yogurt: brand": packaged("Ecdat/Yogurt", "choice", ["id"]),
    "work: education": packaged("Ecdat/HI", "education", ["wght"]),
    "diamonds: cut": packaged("ggplot2/diamonds", "cut"),
    "diamonds: clarity": packaged("ggplot2/diamonds", "clarity"),
    "benefits: job lost": packaged("Ecdat/Benefits", "joblost", ["state"]),
    "elderly: region": packaged("Ecdat/OFP", "region"),
    "tobacco: occupation": packaged("Ecdat/Tobacco", "occupation"),
    "Males: occupation": packaged("Ecdat/Males", "occupation", ["nr"]),
    "SLID: third of wages": thirds(SQUARES["SLID, wages"], "wages"),
    "Computers: third of price": thirds(SQUARES["Computers, price"], "price"),
    "food: third of its share": thirds(SQUARES["BudgetFood, share of food"], "wfood"),
    "randhie: third of visits": thirds(visits, "mdvis"),
    "made: lines, 3 classes": made_classes(20_000, 10, 3, 1, 0),
    "made: curves, 3 classes": made_classes(20_000, 10, 3, 2, 4),
    "made: curves, 6 classes": made_classes(10_000, 6, 6, 3, 3),
    "made: lines, 20 classes": made_classes(20_000, 20, 20, 4, 0),
}


def classes(surety, source, split):
    frame, labels = frame_and_labels(source)
    places = {key: place for place, key in enumerate(sorted(labels.astype(str).unique()))}
    y = labels.astype(str).map(places).to_numpy()
    rows = []
    x = frame.unit_rows()
    trained, held = rule.parts(len(y), split)

    def loss(probabilities):
        return float(-np.mean(np.log(np.maximum(probabilities[np.arange(len(held)), y[held]], 1e-15))))

    shares = np.bincount(y[trained], minlength=len(places)) / len(trained)
    free = LogisticRegression(C=1e3, fit_intercept=False, max_iter=200).fit(x[trained], y[trained])
    known = np.zeros((len(held), len(places)))
    known[:, free.classes_] = free.predict_proba(x[held])
    ends = loss(np.tile(shares, (len(held), 1))), loss(known)
    with tempfile.TemporaryDirectory() as folder:
        frames.write(Path(folder), frame, y, trained, held)
        label = ["--label", "label", "--classes", ",".join(map(str, range(len(places))))]
        for terms, epsilon, nu in both_terms(len(trained), frame, EPSILONS):
            _, said = frames.train(surety, Path(folder), [*frame.options, "--terms", terms], label, epsilon, split + 1)
            rows.append([terms, epsilon, nu, *ends, loss(np.array([line.split(",") for line in said], float))])
    return {"n": len(trained), "features": frame.x.shape[1] + 1, "bounded": frame.bounded(), "classes": len(places), "rows": rows}


# Owners of several rows: the panels of benchmarks/owners.py.


def numbers_of(panel):
    """Columns with bounds of more than two values, and features of linear terms."""
    bounded = [panel.options[i + 1].split("=")[0] for i, word in enumerate(panel.options) if word == "--bounds"]
    texts = [panel.options[i + 1].split("=")[1].count(",") + 1 for i, word in enumerate(panel.options) if word == "--categories"]
    return len(bounded), len(bounded) + sum(texts) + 1


def with_two_values(panel):
    """Columns of two values as categories, of which there are no curves."""
    for i, word in enumerate(panel.options):
        name = panel.options[i + 1].split("=")[0] if word == "--bounds" else None
        if name and panel.table[name].nunique() <= 2:
            values = sorted(panel.table[name].unique())
            panel.options[i:i + 2] = ["--categories", f"{name}={values[-1]}"]


def of_owners(surety, panel, kind, split):
    bounded, linear = numbers_of(panel)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "panel.csv")
        panel.table.to_csv(path, index=False)
        said = ["--records", str(panel.units)]
        free = ["--algorithm", "shaped-descent", "--steps", "100", "--clip-share", "1"]
        if kind == owners.SQUARED:
            free += ["--clip", str(2 * owners.label_bound(panel))]
        trained = round(panel.units * 0.8)
        best = owners.scores(surety, panel, path, kind, [*free, "--terms", "linear"], "100000", 1000 + split)
        for terms in ("linear", "additive"):
            d = linear + (KNOTS * bounded if terms == "additive" else 0)
            for epsilon in EPSILONS:
                nu = nu_of(d, trained, epsilon) * panel.most ** -0.25
                if terms == "linear" or nu <= MOST_NOISE:
                    found = owners.scores(surety, panel, path, kind, [*said, "--terms", terms], str(epsilon), 1000 + split)
                    rows.append([terms, epsilon, nu, found["constant"], best["model"], found["model"]])
    return {"n": trained, "features": linear, "bounded": bounded, "rows_of_an_owner": panel.most, "rows": rows}


def fit(surety, folder, part, splits):
    folder = Path(folder) / part
    folder.mkdir(parents=True, exist_ok=True)
    if part == "owners":
        tables = {f"{name}, {kind.replace('_', ' ')}": (of_owners, (panel, kind)) for name, panel, kinds in owners.panels() for kind in kinds}
        for panel in {id(words[0]): words[0] for _, words in tables.values()}.values():
            with_two_values(panel)
    else:
        learner, sources = {"squares": (squares, SQUARES), "moments": (moments, SQUARES), "classes": (classes, CLASSES)}[part]
        tables = {name: (learner, (source,)) for name, source in sources.items()}
    for split in splits:  # of all tables one after the other, so that it may be stopped
        for name, (learner, words) in tables.items():
            path = folder / f"{name.replace(' ', '_').replace('/', '_')}.{split}.json"
            if not path.exists():
                path.write_text(json.dumps({"name": name, **learner(surety, *words, split)}))


# The page.

PARTS = {"squares": "Squared loss", "classes": "Several classes", "owners": "Owners"}
CHOSEN = {"squares": 0.015, "classes": 0.03, "owners": 0}
CHOSEN_OF_FEW = {"classes": 0.2}  # with few records of each additive feature, where a larger ridge keeps curves small
MOST_GAIN = 0.25  # that counts in the choice of a limit, so that no table counts for many
LEAST_RECORDS_OF_A_CLASS = 3  # for each additive feature
LEAST_RECORDS = 12  # likewise, of all classes
FEW_RECORDS, FEW_LINEAR_FEATURES = 70, 30  # for each additive feature, of so many linear ones
LOSS_WEIGHT = 3  # what a loss counts for: nobody should get a worse model for more budget
BINS = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
LEAST_LEARNED = 0.05  # of the constant's loss: where less can be learned, shares are of so much


class Table:
    """Of a table: what a cell (terms, epsilon) has of each split, as shares."""

    def __init__(self, files):
        one = files[0]
        self.name, self.n, self.features, self.bounded = one["name"], one["n"], one["features"], one["bounded"]
        additive = self.features + KNOTS * self.bounded
        self.has_records = self.n >= max(LEAST_RECORDS, LEAST_RECORDS_OF_A_CLASS * one.get("classes", 0)) * additive
        self.is_few = self.n < FEW_RECORDS * additive and self.features <= FEW_LINEAR_FEATURES
        ends = np.mean([[row[3], row[4]] for found in files for row in found["rows"]], axis=0)
        self.constant, self.best = ends
        learned = max(ends[0] - ends[1], LEAST_LEARNED * ends[0])
        self.shares, self.nu = collections.defaultdict(list), {}
        for found in files:
            for terms, epsilon, nu, none, _, loss in found["rows"]:
                self.shares[terms, epsilon].append((none - loss) / learned)
                self.nu[terms, epsilon] = nu
        self.splits = len(files)

    def share(self, terms, epsilon):
        return min(max(float(np.mean(self.shares[terms, epsilon])), -1), 2)

    def is_taken(self, epsilon, limit):
        return self.bounded > 0 and self.has_records and ("additive", epsilon) in self.nu and self.nu["additive", epsilon] <= limit

    def by(self, epsilon, limit):
        return self.share("additive" if self.is_taken(epsilon, limit) else "linear", epsilon)

    def gain(self, epsilon):
        return self.share("additive", epsilon) - self.share("linear", epsilon)

    def errors_of_gain(self, epsilon):
        """The gain in its standard errors, of splits and noise."""
        differences = np.subtract(self.shares["additive", epsilon], self.shares["linear", epsilon])
        return float(differences.mean() / max(differences.std(ddof=1) / len(differences) ** 0.5, 1e-12)) if len(differences) > 1 else 0.0


def tables_of(folder):
    files = collections.defaultdict(list)
    for path in sorted(Path(folder).glob("*.json")):
        found = json.loads(path.read_text())
        files[found["name"]].append(found)
    return [Table(found) for found in files.values()]


REASONS = {
    "squares": "Above .02, curves are worse by two standard errors in every fifth cell, so the rule stops at .015.",
    "classes": "With fewer than 70 records per feature and at most 30 linear features, curves have a ridge of .3 and at least 20 steps, chosen on these tables; with fewer than three per feature and class\n"
    "there are none. With many records, limits above .03 gain on the mean, but *food*, *work: education* and *lines, 3 classes* lose up to .24.",
    "owners": "The chosen limit gains a hundredth, only at epsilon 4 and 8 and in one survey. The rule therefore takes no curves.",
}


def span(numbers):
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least} or {most}" if most == least + 1 else f"{least} to {most}"


def part_of_page(part, tables):
    gains = np.array([[[t.by(e, limit) - t.share("linear", e) for e in EPSILONS] for t in tables] for limit in LIMITS])
    worth = np.where(gains > 0, np.minimum(gains, MOST_GAIN), LOSS_WEIGHT * np.maximum(gains, -2 * MOST_GAIN)).mean(2)
    has_few = part in CHOSEN_OF_FEW

    def kind_of(table):
        return has_few and table.is_few

    def chosen_of(table):
        return CHOSEN_OF_FEW[part] if kind_of(table) else CHOSEN[part]

    # Each table by the others of its kind.
    kinds = np.array([kind_of(t) for t in tables])
    left_out = [LIMITS[int(np.argmax(worth[:, kinds == kinds[i]].sum(1) - worth[:, i]))] for i in range(len(tables))]
    print(f"## {PARTS[part]}\n")
    print(f"{len(tables)} tables, {span([t.splits for t in tables])} splits.")
    for kind in sorted(set(kinds)):
        picks = collections.Counter(limit for limit, one in zip(left_out, kinds, strict=True) if one == kind)
        whose = f" {'few' if kind else 'many'} records of each feature" if has_few else ""
        limit = CHOSEN_OF_FEW[part] if kind else CHOSEN[part]
        chosen = "; ".join(f"nu <= {one:g} for {count}" for one, count in picks.most_common())
        print(f"Chosen by the other tables{' with' * has_few}{whose}: {chosen}. The rule: {f'nu <= {limit:g}' if limit else 'linear terms'}.")
    print()
    if REASONS[part]:
        print(REASONS[part] + "\n")
    print(result_page.mark("other-terms-limits", r"\| 0\.(015|05) \|", loss=PARTS[part].lower()))
    print("| limit of nu | mean of what it adds to the share | the same as it counts |")
    print("|---|---|---|")
    for limit, added, counted in zip(LIMITS[1:], gains[1:], worth[1:], strict=True):
        print(f"| {limit:g} | {added.mean():+.4f} | {counted.mean():+.4f} |")
    print("\n" + result_page.mark("other-terms-nu", loss=PARTS[part].lower()))
    print("| nu | cells | tables | mean (standard error, of tables) | better, worse by two standard errors of splits |")
    print("|---|---|---|---|---|")
    for lower, upper in zip(BINS, BINS[1:], strict=False):
        here = {t.name: [(t.gain(e), t.errors_of_gain(e)) for e in EPSILONS if t.bounded and lower < t.nu.get(("additive", e), 9) <= upper] for t in tables}
        here = {name: gains for name, gains in here.items() if gains}
        means = np.array([np.mean([gain for gain, _ in gains]) for gains in here.values()])
        sizes = [size for gains in here.values() for _, size in gains]
        if len(means) > 1:
            print(f"| {lower:g} to {upper:g} | {len(sizes)} | {len(means)} | {means.mean():+.3f} ({means.std(ddof=1) / len(means) ** 0.5:.3f}) | "
                  f"{sum(size > 2 for size in sizes)}, {sum(size < -2 for size in sizes)} |")
    print("\n" + result_page.mark("other-terms-epsilon", loss=PARTS[part].lower()))
    print("| epsilon | linear: mean share | what others chose | the rule | tables where it takes additive terms | largest loss |")
    print("|---|---|---|---|---|---|")
    for e in EPSILONS:
        taken = [t for t in tables if t.is_taken(e, chosen_of(t))]
        least = min(taken, key=lambda t: t.gain(e), default=None)
        loss = f"{least.gain(e):+.3f} ({least.name})" if least and least.gain(e) < 0 else "none"
        print(f"| {e:g} | {np.mean([t.share('linear', e) for t in tables]):.3f} | {np.mean([t.by(e, limit) for t, limit in zip(tables, left_out, strict=True)]):.3f} | "
              f"{np.mean([t.by(e, chosen_of(t)) for t in tables]):.3f} | {len(taken)} | {loss} |")
    rises = [(t.by(first, chosen_of(t)) - t.by(second, chosen_of(t)), t.name, first, second) for t in tables for i, first in enumerate(EPSILONS) for second in EPSILONS[i + 1:]
             if not t.is_taken(first, chosen_of(t)) and t.is_taken(second, chosen_of(t))]
    worse = sorted((one for one in rises if one[0] > 0), reverse=True)
    if rises:
        print(f"\nOf {len(rises)} pairs of epsilons (linear terms at the smaller, additive at the larger), the mean share falls in {len(worse)}"
              + (f", at most by {worse[0][0]:.3f} ({worse[0][1]}, from {worse[0][2]:g} to {worse[0][3]:g})." if worse else "."))
    print("\n" + result_page.mark("other-terms", r"(randhie, visits|fair, affairs|SLID|hardly|cut|doctor: health|lines, 3|household income, log|firms, log)", ["table", "trained on", "features: linear, additive", "1", "4"], loss=PARTS[part].lower()))
    print("| table | trained on | features: linear, additive | columns with bounds | constant, best loss | " + " | ".join(f"{e:g}" for e in EPSILONS) + " |")
    print("|---|---|---|---|---|" + "---|" * len(EPSILONS))
    for t in tables:
        cells = []
        for e in EPSILONS:
            text = f"{t.share('linear', e):.2f}"
            if t.bounded and ("additive", e) in t.nu:
                text += f" {t.share('additive', e):.2f}" + (" taken" if t.is_taken(e, chosen_of(t)) else "")
            cells.append(text)
        print(f"| {t.name} | {t.n:,} | {t.features}, {t.features + KNOTS * t.bounded} | {t.bounded} | {t.constant:.4f}, {t.best:.4f} | " + " | ".join(cells) + " |")
    print()


MOMENT_BINS = (0, 0.001, 0.002, 0.005, LITTLE_NOISE)


def moments_of_page(folder):
    tables = collections.defaultdict(list)
    for path in sorted(Path(folder).glob("*.json")):
        found = json.loads(path.read_text())
        if found["rows"]:
            tables[found["name"]].append(found)
    print("## Sufficient statistics and shaped descent\n")
    print(f"Squared loss, linear terms, at most {FEW_FEATURES} features with the intercept: {len(tables)} tables, {span([len(files) for files in tables.values()])} splits. Shaped descent takes 10 steps and clips to .6.")
    print("The rule takes sufficient statistics only for nu <= .001: there both are close to least squares, and sufficient statistics also give intervals.\n")
    print(result_page.mark("other-terms-statistics", r"^(scaled|unit) . (0 to 0.001|0.005)"))
    print("| rows | nu | cells | mean share: sufficient statistics | shaped descent | cells where shaped descent is ahead |")
    print("|---|---|---|---|---|---|")
    for lengths in ("scaled", "unit"):
        for lower, upper in zip(MOMENT_BINS, MOMENT_BINS[1:], strict=False):
            pairs = []
            for files in tables.values():
                constant, best = np.mean([found["ends"] for found in files], axis=0)
                learned = max(constant - best, LEAST_LEARNED * constant)
                for epsilon in EPSILONS:
                    here = [row for found in files for row in found["rows"] if row[0] == lengths and row[2] == epsilon and lower < row[3] <= upper]
                    if here:
                        shares = [(constant - np.mean([row[4] for row in here if row[1] == how])) / learned for how in MOMENTS]
                        pairs.append(np.clip(shares, -1, 2))
            if pairs:
                means = np.mean(pairs, axis=0)
                print(f"| {lengths} | {lower:g} to {upper:g} | {len(pairs)} | {means[0]:.3f} | {means[1]:.3f} | {sum(b > a for a, b in pairs)} |")
    print()


def page(folder):
    print("# Additive terms for squared loss, several classes and owners\n")
    print("<!-- python benchmarks/other_terms.py fit SURETY FOLDER PART SPLITS... && python benchmarks/other_terms.py page FOLDER -->\n")
    print("Held-out loss of `surety train --terms linear` and `--terms additive`, with the options of the default rule for that number of features; replace-one, delta = 1e-5.")
    print("A share of 0 is the constant, 1 least squares or (multinomial) logistic regression on linear terms without privacy (owners: shaped descent with hardly any noise).")
    print("Shares are cut at -1 and 2. Where less than a twentieth of the constant's loss can be learned, they are of that twentieth.")
    print("nu = 2 d / (n mu) for d features; with owners of at most K rows, n counts owners and nu is times K^(-1/4).")
    print("The limit of nu for a table is chosen on the other tables, over epsilon from .5 to 8. A gain counts up to .25, a loss three times.")
    print(f"Tables have at most {MOST_ROWS:,} rows. Logistic loss of records: [terms](terms.md).\n")
    for part in PARTS:
        part_of_page(part, tables_of(Path(folder) / part))
        if part == "squares":
            moments_of_page(Path(folder) / "moments")


if __name__ == "__main__":
    if sys.argv[1] == "fit":
        fit(sys.argv[2], sys.argv[3], sys.argv[4], [int(word) for word in sys.argv[5:]])
    else:
        page(sys.argv[2])
