"""Sparse matrices: the models of the same rows as LIBSVM text, to the last byte under replay; what is no matrix is refused before a charge."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surety_dp as surety

COMMAND = os.environ["SURETY_COMMAND"]
ROWS, COLUMNS = 400, 12
PROMISE: dict[str, Any] = {"unit": None, "epsilon": 2, "delta": 1e-5, "adjacency": "replace-one"}
FIT: dict[str, Any] = {**PROMISE, "algorithm": "gradient-descent", "steps": 4, "replay_seed": 7}


@dataclass
class Csr:
    """What SciPy's has, and no more."""

    indptr: Any
    indices: Any
    data: Any
    shape: Any


@dataclass
class Convertible:
    """What becomes one."""

    csr: Csr | None

    def tocsr(self) -> Csr | None:
        return self.csr


def rows() -> tuple[list[dict[int, float]], np.ndarray[Any, Any]]:
    """Columns and values of each row, one of which is not finite, and the labels."""
    entries = [{j: ((i * 7 + j * 13) % 11 - 5) / 4 for j in range(COLUMNS) if i * j % 3 == 0 and (i + j) % 4} for i in range(ROWS)]
    entries[5] = {}
    entries[9] = {0: float("inf")}
    return entries, np.where(np.arange(ROWS) % 3 == 0, 1.0, -1.0)


def csr_of(entries: list[dict[int, float]], integers: Any = np.int32) -> Csr:
    lengths = [len(row) for row in entries]
    return Csr(
        np.concatenate([[0], np.cumsum(lengths)]).astype(integers),
        np.array([column for row in entries for column in row], integers),
        np.array([value for row in entries for value in row.values()], np.float64),
        (len(entries), COLUMNS),
    )


def shuffled(matrix: Csr) -> Csr:
    """The same rows, backwards, with zeros among them, and each value in two halves."""
    ends, indices, values = [0], [], []
    for begin, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        for k in reversed(range(begin, end)):
            indices += [matrix.indices[k], 3, matrix.indices[k]]
            values += [matrix.data[k] / 2, 0, matrix.data[k] / 2]
        ends.append(len(indices))
    return Csr(np.array(ends), np.array(indices), np.array(values), matrix.shape)


ENTRIES, LABELS = rows()
MATRIX = csr_of(ENTRIES)
LAYOUTS: dict[str, Any] = {
    "int32": MATRIX,
    "int64": csr_of(ENTRIES, np.int64),
    "uint64": csr_of(ENTRIES, np.uint64),
    "int16": csr_of(ENTRIES, np.int16),
    "big-endian": Csr(MATRIX.indptr.astype(">i4"), MATRIX.indices.astype(">i4"), MATRIX.data.astype(">f8"), MATRIX.shape),
    "strided": Csr(MATRIX.indptr, np.repeat(MATRIX.indices, 3)[::3], np.repeat(MATRIX.data, 2)[::2], MATRIX.shape),
    "lists": Csr(MATRIX.indptr.tolist(), MATRIX.indices.tolist(), MATRIX.data.tolist(), MATRIX.shape),
    "float32": Csr(MATRIX.indptr, MATRIX.indices, MATRIX.data.astype(np.float32), MATRIX.shape),
    "not sorted, twice, zeros": shuffled(MATRIX),
    "more than its rows": Csr(MATRIX.indptr, np.append(MATRIX.indices, [99]), np.append(MATRIX.data, [np.nan]), MATRIX.shape),
    "converted": Convertible(MATRIX),
    "misaligned": Csr(MATRIX.indptr, MATRIX.indices, np.frombuffer(b" " + MATRIX.data.tobytes(), np.uint8)[1:].view(np.float64), MATRIX.shape),
    "read-only": Csr(np.frombuffer(MATRIX.indptr.tobytes(), np.int32), np.frombuffer(MATRIX.indices.tobytes(), np.int32), np.frombuffer(MATRIX.data.tobytes()), MATRIX.shape),
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sparse") / "rows.svm"
    lines = [f"{label:g}" + "".join(f" {column + 1}:{value!r}" for column, value in row.items()) for row, label in zip(ENTRIES, LABELS, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def train(data: Any, **more: Any) -> surety.Model:
    return surety.train(data, ledger=surety.Ledger.in_memory(), **{**FIT, **more})


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_is_the_same_file(name: str, file: Path) -> None:
    of_file = train(file, format="libsvm", features=COLUMNS)
    of_matrix = train((LAYOUTS[name], LABELS))
    assert of_matrix.json() == of_file.json() and of_matrix.text() == of_file.text() and of_matrix.columns == ()
    assert of_file.report is not None and of_file.report["damaged_records_not_private"] == 1


@pytest.mark.parametrize(
    "more",
    [
        {"algorithm": "auto", "steps": None},
        {"algorithm": "auto", "steps": None, "rows": "scaled"},
        {"algorithm": "auto", "steps": None, "adjacency": "add-or-remove-one", "records": ROWS},
        {"algorithm": "private-ftrl", "steps": ROWS, "radius": 2, "step_size": 0.1},
        {"algorithm": "dp-sgd", "steps": None, "records": ROWS, "batch_size": 50, "epochs": 2},
        {"loss": "squared", "label_bound": 1, "clip": 0.5},
        {"tune": 2, "tune_over": {"clip": [0.5, 1]}},
    ],
    ids=lambda more: " ".join(str(value) for value in more.values()),
)
def test_every_way_to_learn_is_that_of_the_command(more: dict[str, Any], file: Path, tmp_path: Path) -> None:
    said = {**FIT, **more, "format": "libsvm", "features": COLUMNS, "model": str(tmp_path / "m.json"), "unit": None}
    words = [f"--{name.replace('_', '-')}={value}" for name, value in said.items() if value is not None and name not in ("algorithm", "tune_over")]
    if said["algorithm"] != "auto":
        words.append(f"--algorithm={said['algorithm']}")
    words += [f"--tune-over={name}={','.join(map(str, values))}" for name, values in said.get("tune_over", {}).items()]
    subprocess.run([COMMAND, "train", str(file), *words, "--ledger", "run.db"], cwd=tmp_path, check=True, capture_output=True)
    of_matrix = train((MATRIX, LABELS), **more)
    assert of_matrix.text() + "\n" == (tmp_path / "m.json").read_text()


def test_predictions_are_those_of_the_file(file: Path, tmp_path: Path) -> None:
    whole = [row if index != 9 else {} for index, row in enumerate(ENTRIES)]
    matrix = csr_of(whole)
    path = tmp_path / "whole.svm"
    path.write_text(file.read_text().replace("inf", "0"))
    model = train((MATRIX, LABELS))
    model.save(tmp_path / "m.json")
    done = subprocess.run([COMMAND, "predict", str(tmp_path / "m.json"), str(path), "--json"], check=True, capture_output=True, text=True)
    said = json.loads(done.stdout)["predictions"]
    for data in (matrix, shuffled(matrix), Convertible(matrix), (matrix, LABELS), (matrix, None), path):
        assert model.predict_proba(data)[:, 1].tolist() == said
        assert model.predict(data).tolist() == [model.classes_[int(one >= 0.5)] for one in said]
        assert ((model.decision_function(data) >= 0) == (np.array(said) >= 0.5)).all()
    with pytest.raises(surety.SuretyError, match="1 of 400 records is damaged, nothing is said of any; the first: sparse matrix: row 10: the value in column 0 is not finite"):
        model.predict(MATRIX)
    with pytest.raises(ValueError, match="it has 11 columns, must have 12, one for each feature"):
        model.predict(Csr(matrix.indptr, np.minimum(matrix.indices, 10), matrix.data, (ROWS, 11)))
    with pytest.raises(surety.SuretyError, match="sparse matrix: has no records"):
        model.predict(Csr([0], np.zeros(0, np.int32), np.zeros(0), (0, COLUMNS)))
    with pytest.raises(ValueError, match="must be one of named columns for the rows of an Arrow stream"):
        model.predict({"x": [1.0]})
    of_table = surety.train({"x": np.arange(50.0), "y": np.arange(50) % 2}, label="y>0", **FIT, ledger=surety.Ledger.in_memory())
    with pytest.raises(ValueError, match="the model was trained on named columns"):
        of_table.predict(matrix)


def test_a_plan_takes_matrices_too(file: Path) -> None:
    plan = surety.plan_training(**FIT, format="libsvm", features=COLUMNS)
    ledger = surety.Ledger.in_memory()
    assert plan.train((MATRIX, LABELS), ledger=ledger).text() == plan.train(file, ledger=ledger).text() and len(ledger.audit(1e-5)["runs"]) == 2
    with pytest.raises(ValueError, match="features is 12, must be 11, the number of columns of the sparse matrix"):
        plan.train((Csr(MATRIX.indptr, MATRIX.indices, MATRIX.data, (ROWS, 11)), LABELS), ledger=ledger)
    of_table = surety.plan_training(label="y>0", **FIT)
    with pytest.raises(ValueError, match="format is not libsvm"):
        of_table.train((MATRIX, LABELS), ledger=ledger)
    assert len(ledger.audit(1e-5)["runs"]) == 2


def changed(**parts: Any) -> tuple[Csr, Any]:
    return replace(MATRIX, **parts), LABELS


ENDS = MATRIX.indptr
DAMAGED: dict[str, tuple[Any, int]] = {
    "columns beyond": (changed(indices=np.where(np.arange(len(MATRIX.indices)) % 50 == 1, COLUMNS, MATRIX.indices)), 0),
    "columns below": (changed(indices=np.where(np.arange(len(MATRIX.indices)) % 50 == 1, -1, MATRIX.indices)), 0),
    "NaN": (changed(data=np.where(np.arange(len(MATRIX.data)) % 50 == 1, np.nan, MATRIX.data)), 0),
    "labels": ((MATRIX, np.where(np.arange(ROWS) == 3, np.nan, LABELS)), 1),
    "labels that are masked": ((MATRIX, np.ma.MaskedArray(LABELS, np.arange(ROWS) == 3)), 1),
    "labels of another kind": ((MATRIX, np.where(np.arange(ROWS) == 3, 7, LABELS)), 1),
    "a label that is a text": ((MATRIX, [*LABELS[:3].tolist(), "a", *LABELS[4:].tolist()]), 1),
    "a label that is an object": ((MATRIX, np.array([*LABELS[:3].tolist(), None, *LABELS[4:].tolist()], object)), 1),
    "complex values": (changed(data=np.where(np.arange(len(MATRIX.data)) % 50 == 1, 1j, MATRIX.data)), 0),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_a_row_holds_stops_nothing(name: str) -> None:
    """It counts as zeros, unless the form of the rows is public."""
    data, more = DAMAGED[name]
    report = train(data).report
    assert report is not None and report["damaged_records_not_private"] > 1 and (more == 0 or report["damaged_records_not_private"] == 1 + more)
    with pytest.raises(surety.SuretyError, match=r"^sparse matrix: row \d+: "):
        train(data, form_is_public=True)


def test_labels_count_one_by_one() -> None:
    """Of whatever type another label made their array."""
    of_numbers = train((MATRIX, LABELS)).text()
    for labels in (LABELS.astype(str), LABELS.astype(object), LABELS.tolist(), LABELS.astype(complex)):
        assert train((MATRIX, labels)).text() == of_numbers
    assert train(changed(data=MATRIX.data.astype(complex))).text() == of_numbers


SECRET = 77.125
REFUSED: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (MATRIX, {}, TypeError, "data is a sparse matrix without labels, must be a pair of the matrix and the labels of its rows"),
    ((MATRIX, None), {}, TypeError, "data is a sparse matrix without labels"),
    ((MATRIX, LABELS), {"label": "y"}, ValueError, "label is 'y', must be None for a sparse matrix: its labels stand beside it, in a pair"),
    ((MATRIX, LABELS), {"features": 11}, ValueError, "features is 11, must be 12, the number of columns of the sparse matrix"),
    ((MATRIX, LABELS), {"format": "csv"}, ValueError, ""),
    ((MATRIX, LABELS), {"unit": "who", "most": 2}, ValueError, "unit is for CSV files"),
    ((MATRIX, LABELS[:-1]), {}, ValueError, "data and labels have different numbers of rows"),
    ((MATRIX, LABELS[:, None]), {}, TypeError, "labels has 2 dimensions, must have one"),
    (changed(data=MATRIX.data[:, None]), {}, TypeError, "data.data has 2 dimensions"),
    (changed(data=MATRIX.data[:-1]), {}, ValueError, "it has not as many column indices as values"),
    (changed(indices=MATRIX.indices * 1.0), {}, TypeError, "data.indices has dtype float64, must be of integers"),
    (changed(indptr=ENDS * 1.0), {}, TypeError, "data.indptr has dtype float64, must be of integers"),
    (changed(indptr=ENDS[:-1]), {}, ValueError, "data.indptr and data.shape do not fit together"),
    (changed(indptr=ENDS[::-1]), {}, ValueError, "the ends of its rows do not begin with 0"),
    (changed(indptr=np.where(np.arange(ROWS + 1) == 3, 10**6, ENDS)), {}, ValueError, "the ends of its rows descend, must ascend"),
    (changed(indptr=np.append(ENDS[:-1], 10**6)), {}, ValueError, "its rows end beyond its values"),
    (changed(indptr=np.append(ENDS[:-1].astype(np.uint64), np.uint64(2**63 + 5))), {}, ValueError, "the ends of its rows descend"),
    (changed(indptr=np.append(ENDS[:-1].astype(np.int64), 2**63 - 1)), {}, ValueError, "its rows end beyond its values"),
    (changed(shape=(ROWS + 1, COLUMNS)), {}, ValueError, "data.indptr and data.shape do not fit together"),
    (changed(shape=(ROWS, -1)), {}, ValueError, "data.indptr and data.shape do not fit together"),
    (changed(shape=(ROWS, 0)), {}, ValueError, "features is '0', must be a whole number from 1"),
    (changed(shape=(ROWS, 2**70)), {}, ValueError, "features is beyond 2^64"),
    (changed(shape=(ROWS, 2**23)), {}, ValueError, "features is 8388608, must be at most 4194304 unless no_limits is given"),
    (changed(shape=(ROWS,)), {}, TypeError, "data is a sparse array of other than two dimensions"),
    (changed(shape=(ROWS, 1.5)), {}, TypeError, "'float' object cannot be interpreted as an integer"),
    ((Convertible(None), LABELS), {}, TypeError, "data is a sparse matrix (Convertible) whose tocsr gives a NoneType, must be one of compressed rows"),
]


@pytest.mark.parametrize(("data", "more", "kind", "message"), REFUSED, ids=[f"{place} {case[3][:40]}" for place, case in enumerate(REFUSED)])
def test_what_is_no_matrix_is_refused_in_one_line_and_costs_nothing(data: Any, more: dict[str, Any], kind: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(kind) as refused:
        surety.train(data, **{**FIT, **more}, ledger=tmp_path / "run.db")
    assert message in str(refused.value) and "\n" not in str(refused.value) and not (tmp_path / "run.db").exists()


def test_conversion_that_fails_shows_no_cell() -> None:
    class Failing:
        def tocsr(self) -> Any:
            raise ValueError(f"cell {SECRET}")

    with pytest.raises(TypeError, match=r"^data is a sparse matrix \(Failing\) whose tocsr raises ValueError, must be one of compressed rows$") as refused:
        train((Failing(), LABELS))
    assert refused.value.__context__ is None
    csc = replace(MATRIX)
    csc.format = "csc"  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="of the format csc, must be one of compressed rows"):
        train((csc, LABELS))
    with pytest.raises(TypeError, match=r"data is a sparse matrix \(Csr\), must be a table"):
        surety.release(MATRIX, [surety.count()], **PROMISE, ledger=surety.Ledger.in_memory())
