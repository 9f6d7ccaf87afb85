"""Mean hours by occupation on the wage panel, where nobody listed the occupations: how many are shown, and how far their means are off.

Run by hand, with the command alone:
    python3 benchmarks/discovered.py build/release/cli/surety [RUNS] >docs/results/discovered.md

The promise is to each man with all his years: epsilon 1, delta 1e-6, at most 8 rows and 3 occupations of each, hours between 0 and 5000. One command asks
for the means of groups that nobody listed. Two commands ask for the keys, with half of epsilon and of delta, and then for the means of those groups, with
the rest; they have a quarter of the runs. Runs replay seeds 1, 2, ..., so that this page can be made again.
"""

import collections
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PANEL = Path(__file__).parents[1] / "examples" / "data" / "wage_panel.csv"
UNIT = ["--unit", "nr", "--most", "8"]
MEAN = ["--query", "mean(hours)", "--bounds", "0,5000", "--by", "occupation"]
EPSILON, DELTA = 1.0, 1e-6


def released(command, words, adjacency, epsilon, delta, seed):
    with tempfile.TemporaryDirectory() as folder:
        promise = ["--adjacency", adjacency, "--epsilon", str(epsilon), "--delta", str(delta)]
        out = subprocess.run(
            [command, "release", PANEL, *UNIT, *words, *promise, "--ledger", os.path.join(folder, "men.db"), "--replay-seed", str(seed), "--json"],
            check=True, capture_output=True, text=True).stdout  # fmt: skip
    return json.loads(out)


def means_of(answer):
    return {one["group"]: (one["value"], *one["interval"]) for one in answer["groups"]}


def in_one(command, adjacency, seed):
    return means_of(released(command, [*MEAN, "--keys", "discovered", "--most-keys", "3"], adjacency, EPSILON, DELTA, seed))


def in_two(command, adjacency, seed):
    keys = released(command, ["--query", "keys(occupation)", "--most-keys", "3"], adjacency, EPSILON / 2, DELTA / 2, seed)
    found = [cell["cell"] for cell in keys["cells"]]
    if not found:
        return {}
    return means_of(released(command, [*MEAN, "--keys", ",".join(found)], adjacency, EPSILON / 2, DELTA / 2, seed + 100000))


def truths():
    """Of each occupation the mean over men of their own means there, the mean over years, and how many men are in it."""
    years = collections.defaultdict(list)
    with open(PANEL, newline="") as file:
        for row in csv.DictReader(file):
            years[row["occupation"], row["nr"]].append(min(max(float(row["hours"]), 0), 5000))
    of_men, of_years = collections.defaultdict(list), collections.defaultdict(list)
    for (occupation, _), hours in years.items():
        of_men[occupation].append(sum(hours) / len(hours))
        of_years[occupation] += hours
    return {one: (sum(men) / len(men), sum(of_years[one]) / len(of_years[one]), len(men)) for one, men in of_men.items()}


def root_mean_square(values):
    return math.sqrt(sum(one**2 for one in values) / len(values)) if values else math.nan


def row_of(name, adjacency, runs, truth):
    shown = sum(len(run) for run in runs) / len(runs)
    largest = set(sorted(truth, key=lambda key: truth[key][2])[-6:])
    narrowest = [set(sorted(run, key=lambda key: run[key][2] - run[key][1])[:6]) for run in runs]
    of_largest = root_mean_square([mean - truth[key][0] for run in runs for key, (mean, _, _) in run.items() if key in largest])
    of_narrowest = root_mean_square([run[key][0] - truth[key][0] for run, keys in zip(runs, narrowest) for key in keys])
    off = [(mean - truth[key][0], mean - truth[key][1], low <= truth[key][0] <= high) for run in runs for key, (mean, low, high) in run.items()]
    rmse = [root_mean_square([one[k] for one in off]) for k in (0, 1)]
    covered = sum(one[2] for one in off) / len(off) if off else math.nan
    return f"| {adjacency} | {name} | {len(runs)} | {shown:.2f} | {rmse[0]:.0f} | {of_largest:.0f} | {of_narrowest:.0f} | {rmse[1]:.0f} | {covered:.3f} |"


def main():
    command, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
    version = subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    truth = truths()
    print("# Statistics by discovered groups\n")
    print("<!-- python3 benchmarks/discovered.py build/release/cli/surety >docs/results/discovered.md -->\n")
    print(f"Mean hours by occupation, on `examples/data/wage_panel.csv` (545 men, {len(truth)} occupations with "
          f"{min(one[2] for one in truth.values())} to {max(one[2] for one in truth.values())} men), by {version}, made with {os.environ.get('CXX_NAME', 'g++ 12')}.")  # fmt: skip
    print("The unit of privacy is a man: epsilon 1, delta 1e-6, at most 8 rows and 3 occupations of each, hours between 0 and 5000.")
    print("*In one*: `--by occupation --keys discovered`; *in two*: `keys(occupation)` with half of the budget, then the means of these groups with the rest.\n")
    print("*Off* is the root mean square error in hours: of the mean over men, which *in one* estimates, and of the mean over years, which *in two* estimates.")
    print("Runs with more occupations show smaller ones with larger errors; so there are columns for the six largest and the six with the narrowest intervals.")
    print("The last column is how often the 95 % interval, which covers the noise alone, holds the mean over men.\n")
    print("| adjacency | how | runs | occupations shown | off, of men | six largest | six narrowest | off, of years | in the interval |\n|---|---|---|---|---|---|---|---|---|")
    for adjacency in ("add-or-remove-one", "replace-one"):
        for name, how, number in (("in one", in_one, runs), ("in two", in_two, max(1, runs // 4))):
            print(row_of(name, adjacency, [how(command, adjacency, seed) for seed in range(1, number + 1)], truth), flush=True)
    print("\nThe weight of the count under add-or-remove-one was chosen with this panel in view.")


main()
