#!/usr/bin/env python3
"""classes.py SURETY OUTPUT: accuracy of `surety train --classes` on scikit-learn's handwritten digits, as a table.

Needs scikit-learn, for the data and for the model without privacy (benchmarks/learners-requirements.txt).
1,797 images of 8 x 8 pixels from 0 to 16, ten classes. Everything else is the default of the command: a fifth of the records is held out, by
ten split seeds; the noise is replayed from the same seed."""
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

SEEDS = range(10)
EPSILONS = (0.5, 1, 2, 4, 8)


def trained(surety, folder, data, epsilon, seed):
    words = [surety, "train", data, "--label", "digit", "--classes", ",".join(map(str, range(10))), "--epsilon", str(epsilon), "--delta",
             "1e-5", "--ledger", folder / f"{epsilon}-{seed}.db", "--model", folder / "model.json", "--split-seed", str(seed),
             "--replay-seed", str(seed), "--json"]
    for pixel in range(64):
        words += ["--bounds", f"p{pixel}=0,16"]
    said = subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout
    return json.loads(said)["held_out_scores_not_private"]


def shown(values):
    return f"{statistics.mean(values):.3f} ({statistics.stdev(values) / len(values) ** 0.5:.3f})"


def main():
    surety, output = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    digits = load_digits()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "digits.csv"
        header = ",".join([f"p{pixel}" for pixel in range(64)] + ["digit"])
        lines = [",".join(map(str, list(image) + [digit])) for image, digit in zip(digits.data, digits.target)]
        data.write_text("\n".join([header] + lines) + "\n")
        for epsilon in EPSILONS:
            scores = [trained(surety, folder, data, epsilon, seed) for seed in SEEDS]
            rows.append((epsilon, shown([s["accuracy"]["model"] for s in scores]), shown([s["log_loss"]["model"] for s in scores]),
                         shown([s["accuracy"]["constant"] for s in scores])))
    plain = []
    for seed in SEEDS:
        train, test, train_labels, test_labels = train_test_split(digits.data / 8 - 1, digits.target, test_size=0.2, random_state=seed)
        plain.append(LogisticRegression(max_iter=2000).fit(train, train_labels).score(test, test_labels))
    text = f"""# Several classes

Made by

    pip install -r benchmarks/learners-requirements.txt
    benchmarks/classes.py build/dev/cli/surety docs/results/classes.md

Handwritten digits of scikit-learn: 1,797 records, 64 features, ten classes, one against the rest under one charge (replace-one, delta 1e-5),
`surety train --classes 0,1,2,3,4,5,6,7,8,9` with the bounds 0 and 16 of every pixel and nothing else said. Mean (standard error) over
{len(SEEDS)} splits and seeds of the noise, on the held-out fifth. The constants of shaped descent were fitted on other data, of two classes.

| epsilon | accuracy | log loss | accuracy of the commonest class |
|---|---|---|---|
"""
    text += "".join(f"| {epsilon} | {accuracy} | {loss} | {constant} |\n" for epsilon, accuracy, loss, constant in rows)
    text += f"| no privacy: scikit-learn's logistic regression | {shown(plain)} | | |\n"
    output.write_text(text)


if __name__ == "__main__":
    main()
