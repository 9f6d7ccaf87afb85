"""From how many units on a key that nobody listed is shown, without its count and with it, on occupations of the wage panel.

Run by hand, with the command alone:
    python3 benchmarks/keys_alone.py build/release/cli/surety >docs/results/keys-alone.md

One command for each row and query. The numbers are functions of what is public: they are what the command says of its noise.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PANEL = Path(__file__).parents[1] / "examples" / "data" / "wage_panel.csv"


def asked(command, function, most_keys, adjacency):
    """Which noise, and the number of units from which on a key is shown as often as not."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["--query", f"{function}(occupation)", "--most-keys", str(most_keys), "--unit", "nr", "--most", "8", "--epsilon", "1", "--delta", "1e-6"]
        out = subprocess.run(
            [command, "release", PANEL, *words, "--adjacency", adjacency, "--ledger", os.path.join(folder, "men.db"), "--replay-seed", "1", "--json"],
            check=True, capture_output=True, text=True).stdout  # fmt: skip
    answer = json.loads(out)
    least = re.search(r"from about (\d+) units on", answer["noise_is_on"])
    above = re.search(r"above (\d+)", answer["noise_is_on"])
    return answer["noise"], int(least[1]) if least else int(above[1]) + 1


def main():
    command = sys.argv[1]
    version = subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    print("# Discovered keys, with and without counts\n")
    print("<!-- python3 benchmarks/keys_alone.py build/release/cli/surety >docs/results/keys-alone.md -->\n")
    print(f"Occupations of the wage panel, at most l of each man, by {version}: epsilon 1, delta 1e-6, the unit of privacy is a man.")
    print("*Shown from* is the number of men from which an occupation is shown with probability 1/2. `keys(occupation)` also releases the counts.")
    print("`distinct(occupation)` takes the lower threshold of a separate choice for each key (*selection*: `repeat(l, approx(e, d))`, 2 l under replace-one;")
    print("[proof](../proofs/keys.md#selection)) and Gaussian noise.\n")
    print("| adjacency | l | `distinct` by | shown from | `keys` by | shown from |\n|---|---|---|---|---|---|")
    for adjacency in ("add-or-remove-one", "replace-one"):
        for most_keys in (1, 2, 3, 5, 8):
            cells = [str(cell) for function in ("distinct", "keys") for cell in asked(command, function, most_keys, adjacency)]
            print(f"| {adjacency} | {most_keys} | {' | '.join(cells)} |", flush=True)
    print("\nSelection suits few keys of a unit, noise more.")


main()
