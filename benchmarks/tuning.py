"""What `train --tune` costs and gains: held-out log loss of a default, of a private search around it, and of the candidate that hindsight chooses.

Run by hand; SURETY_DATA_DIR names the folder of the sets:
    python benchmarks/tuning.py run build/release/cli/surety RESULTS     trains and scores; goes on where RESULTS stops
    python benchmarks/tuning.py page RESULTS | scripts/result_page.py docs/results/tuning.md

Replace-one, delta = 1e-5. Every row is given the same records. A search holds a fifth of them out to score its candidates; what does not search
trains on all. Scores are those of `predict` on records that no row has seen. Noise is replayed from seeds that no two runs share.
"""

import gzip
import itertools
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import zlib

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "scripts"))
import result_page  # noqa: E402

EPSILONS = ("0.5", "1", "4")
SPLITS = 3
SEARCHED = 3  # times for each split: how many runs a search has is drawn
DELTA = "1e-5"

# What is said in every row of a family, and what its candidates differ in.
FAMILIES = {
    "auto": ([], {"--steps": (10, 20, 30), "--clip-share": (0.3, 1)}),
    "gradient-descent": (["--algorithm", "gradient-descent", "--steps", "100", "--regularization", "1e-4"], {"--step-size": (4, 16, 64)}),
}
SEARCHES = (4, 16)


def candidates(family):
    over = FAMILIES[family][1]
    return [[word for name, value in zip(over, values, strict=True) for word in (name, str(value))] for values in itertools.product(*over.values())]


def rows(family):
    """Names of rows, and their options."""
    words, over = FAMILIES[family]
    yield "default", [*words, "--held-out", "0"]
    grid = [word for name, values in over.items() for word in ("--tune-over", f"{name[2:]}={','.join(map(str, values))}")]
    for runs in SEARCHES:
        yield f"--tune {runs}", [*words, "--tune", str(runs), *grid]
    for one in candidates(family):
        # The candidate as the search would run it: auto's choice with other numbers.
        algorithm = words or ["--algorithm", "auto"]
        yield " ".join(one), [*algorithm, *one, "--held-out", "0"]


def lines(path):
    with gzip.open(path, "rt") as file:
        yield from file


def a9a(split):
    data = os.environ["SURETY_DATA_DIR"]
    del split  # it has a test file of its own
    return list(lines(os.path.join(data, "a9a.gz"))), list(lines(os.path.join(data, "a9a.t.gz"))), 123


def covtype_sample(split):
    """Columns are mapped to [-1, 1] by round bounds that hold all records."""
    bounds = [(1800, 3900), (0, 360), (0, 70), (0, 1400), (-200, 600), (0, 7200), (0, 255), (0, 255), (0, 255), (0, 7200)]
    records = []
    for line in itertools.islice(lines(os.path.join(os.environ["SURETY_DATA_DIR"], "covtype_sample.csv.gz")), 1, None):
        cells = [float(cell) for cell in line.split(",")]
        scaled = [min(1, max(-1, 2 * (x - low) / (high - low) - 1)) for x, (low, high) in zip(cells, bounds)]  # the other columns are 0 or 1
        cover = " ".join(f"{j + 1}:{x:.17g}" for j, x in enumerate(scaled + cells[10:54]) if x)
        records.append(f"{1 if cells[54] == 2 else -1:+d} {cover}\n")
    random.Random(1000 + split).shuffle(records)
    cut = len(records) * 4 // 5
    return records[:cut], records[cut:], 54


SETS = {"a9a": a9a, "covtype_sample": covtype_sample}


def trained(command, folder, features, epsilon, seed, options):
    """The log loss on held.libsvm."""
    model, ledger = os.path.join(folder, "model.json"), os.path.join(folder, "run.db")
    for path in (model, ledger):
        if os.path.exists(path):
            os.remove(path)
    done = subprocess.run(
        [command, "train", os.path.join(folder, "train.libsvm"), "--format", "libsvm", "--features", str(features), "--epsilon", epsilon,
         "--delta", DELTA, "--ledger", ledger, "--model", model, "--replay-seed", str(seed), "--json", *options],
        capture_output=True, text=True)  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    held = os.path.join(folder, "held.libsvm")
    said = subprocess.run([command, "predict", model, held], check=True, capture_output=True, text=True).stdout
    losses = []
    for line, answer in zip(open(held), said.split(), strict=True):
        share = min(1 - 1e-15, max(1e-15, float(answer)))
        losses.append(-math.log(share if float(line.split(None, 1)[0]) > 0 else 1 - share))
    return statistics.fmean(losses), json.loads(done.stdout).get("tuning", {}).get("noise_factor")


def read(results):
    found = {}
    if os.path.exists(results):
        for line in open(results):
            one = json.loads(line)
            found[tuple(one["key"])] = one
    return found


def keys_of(name, epsilon, family, row, split):
    """One for each time that it is run."""
    times = SEARCHED if row.startswith("--tune ") else 1
    return [(name, epsilon, family, row, split, time) for time in range(times)]


def run(command, results):
    found = read(results)
    for split in range(SPLITS):
        for name, load in SETS.items():
            with tempfile.TemporaryDirectory() as folder:
                train, held, features = load(split)
                for file, records in (("train", train), ("held", held)):
                    with open(os.path.join(folder, file + ".libsvm"), "w") as out:
                        out.writelines(records)
                for epsilon, family in itertools.product(EPSILONS, FAMILIES):
                    for row, options in rows(family):
                        for key in keys_of(name, epsilon, family, row, split):
                            if key in found:
                                continue
                            seed = zlib.crc32(json.dumps(key).encode())
                            loss, noise = trained(command, folder, features, epsilon, seed, options)
                            with open(results, "a") as file:
                                file.write(json.dumps({"key": key, "loss": loss, "noise": noise}) + "\n")


def cell(found, name, epsilon, family, row):
    losses = [found[key]["loss"] for split in range(SPLITS) for key in keys_of(name, epsilon, family, row, split)]
    return statistics.fmean(losses), statistics.stdev(losses) / math.sqrt(len(losses)), max(losses)


def page(results):
    found = read(results)
    print(INTRODUCTION + "\n## Losses")
    for name, family in itertools.product(SETS, FAMILIES):
        all_candidates = [" ".join(one) for one in candidates(family)]
        print()
        print(result_page.mark("tuning", r"\| (default|`--tune 16`)", ["data", "row", "epsilon 0.5", "4"], data=f"{name}, {family}"))
        print("| row | " + " | ".join(f"epsilon {e}" if e == EPSILONS[0] else e for e in EPSILONS) + " |")
        print("|---|" + "---|" * len(EPSILONS))
        for row in ("default", *(f"--tune {runs}" for runs in SEARCHES)):
            shown = []
            for epsilon in EPSILONS:
                mean, error, most = cell(found, name, epsilon, family, row)
                shown.append(f"{mean:.4f} ({error:.1g})")
                if row != "default":
                    noise = found[keys_of(name, epsilon, family, row, 0)[0]]["noise"]
                    shown[-1] += f", at worst {most:.4f}, noise x {noise:.2f}"
            print(f"| {'`' + row + '`' if row != 'default' else row} | " + " | ".join(shown) + " |")
        for title, choose in (("best candidate in hindsight", min), ("worst candidate", max)):
            shown = []
            for epsilon in EPSILONS:
                means = {one: cell(found, name, epsilon, family, one)[:2] for one in all_candidates}
                one = choose(all_candidates, key=lambda candidate: means[candidate][0])
                shown.append(f"{means[one][0]:.4f} ({means[one][1]:.1g}), `{one}`")
            print(f"| {title} | " + " | ".join(shown) + " |")


INTRODUCTION = """# When a private search is worth its cost

Made by `benchmarks/tuning.py`: log loss on held-out records, replace-one, delta = 1e-5, means over three splits (standard error), three searches each.
A search holds out a fifth of the same records; the best and the worst candidate are chosen in hindsight. "At worst" is the worst of the nine searches.

## When it pays

* Around the choice of `auto` it does not: candidates differ by less than its noise.
* Where a default is far off and records are many, it pays: with 16 expected runs `gradient-descent` gains at epsilon 4 on both sets, at 0.5 on a9a and at 1 on covtype_sample,
  at epsilon 1 on a9a in eight searches of nine.
* Where noise dominates it does not: on covtype_sample (8,000 records) at epsilon 0.5 the best candidate has 1.64 times the noise and loses to the default.
* A diverging candidate costs: a search over three candidates runs the step size of 64 alone with probability 1 / (2 K + 1), 11 % at K = 4 and 3 % at 16.
* No mean of a searched `gradient-descent` reaches `auto`."""

if __name__ == "__main__":
    run(*sys.argv[2:]) if sys.argv[1] == "run" else page(*sys.argv[2:])
