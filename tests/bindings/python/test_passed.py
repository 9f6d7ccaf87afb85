"""What people pass beside tables: an array with names of its columns, and one column for one number. Frames: tests/bindings/frames/test_passed.py."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import pytest

import surety_dp as surety

ROWS: dict[str, Any] = {"unit": None, "epsilon": 1e9, "adjacency": "add-or-remove-one"}
MATRIX = np.column_stack([np.arange(100) % 5, np.arange(100) % 2])


def values(released: surety.Released) -> list[float]:
    return [round(row.value) for row in released.table if row.value is not None]


def test_columns_name_those_of_an_array() -> None:
    statistics = [surety.sum("x", bounds=(0, 5)), surety.sum("b", bounds=(0, 1))]
    for array in (MATRIX, MATRIX.astype(float), MATRIX.astype(object), np.asfortranarray(MATRIX), MATRIX[::-1]):
        assert values(surety.release(array, statistics, columns=["x", "b"], ledger=surety.Ledger.in_memory(), **ROWS)) == [200, 50]
    assert values(surety.release(np.arange(4), statistics[:1], columns=["x"], ledger=surety.Ledger.in_memory(), **ROWS)) == [6]
    call: dict[str, Any] = {"label": "b", "above": 0, "bounds": {"x": (0, 5)}, "algorithm": "gradient-descent", "steps": 3, "replay_seed": 3}
    promise: dict[str, Any] = {"unit": None, "epsilon": 1, "delta": 1e-6, "adjacency": "replace-one"}
    table = {"x": MATRIX[:, 0], "b": MATRIX[:, 1]}
    of_array = surety.train(MATRIX, columns=["x", "b"], ledger=surety.Ledger.in_memory(), **promise, **call)
    assert of_array.text() == surety.train(table, ledger=surety.Ledger.in_memory(), **promise, **call).text()
    assert (of_array.predict(MATRIX, columns=["x", "b"]) == of_array.predict(table)).all()


@pytest.mark.parametrize(
    ("data", "columns", "kind", "message"),
    [
        (MATRIX, ["x"], ValueError, "columns has 1 names, must have one for each of the 2 columns of data"),
        (MATRIX, ["x", "x"], ValueError, "column 'x' appears twice in data"),
        (MATRIX, "xy", TypeError, "columns is 'xy', must be a list of texts"),
        (MATRIX, None, TypeError, "pass columns= with a name for each column"),
        (np.zeros((2, 2, 2)), ["x"], TypeError, "data is an array of 3 dimensions, must have one or two"),
        (np.array(1.0), ["x"], TypeError, "data is an array of 0 dimensions, must have one or two"),
        ([[1, 2], [3]], ["x", "b"], TypeError, "data is of type list, must be a frame"),  # the length of a row would decide whether the call fails
    ],
)
def test_an_array_without_fitting_names_is_refused(data: Any, columns: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        surety.release(data, [surety.count()], columns=columns, ledger=surety.Ledger.in_memory(), **ROWS)


def test_a_column_of_data_gives_one_number() -> None:
    cells = np.arange(1001) % 5
    made = surety.mean(cells, bounds=(0, 5), ledger=surety.Ledger.in_memory(), unit=None, epsilon=1e9, adjacency="replace-one")
    assert_type(made, surety.Released)
    assert_type(surety.mean("x", bounds=(0, 5)), surety.Statistic)
    assert float(made) == pytest.approx(float(np.mean(cells)), abs=0.01) and made.table[0].query == "mean(value)"
    ledger = surety.Ledger.in_memory()
    for function, expected in ((surety.sum, cells.sum()), (surety.variance, cells.var()), (surety.median, 2)):
        released = function(cells.tolist(), bounds=(0, 5), ledger=ledger, **ROWS)
        assert float(released) == pytest.approx(expected, abs=0.05)
    assert len(ledger.audit(1e-6)["runs"]) == 3
    quartiles = surety.quantile(cells, 0.25, 0.75, bounds=(0, 5), ledger=ledger, **ROWS)
    assert [round(row.value or 0) for row in quartiles.table] == [1, 3]
    with pytest.raises(TypeError, match="a Released of 2 numbers is no number"):
        float(quartiles)
    counts = surety.histogram(["a", "b", "b"], categories=["a", "b"], ledger=ledger, **ROWS)
    assert values(counts) == [1, 2]
    # It is the release of a table of that column, to the last bit.
    promise: dict[str, Any] = {"unit": None, "epsilon": 0.5, "delta": 1e-6, "adjacency": "replace-one", "replay_seed": 7, "confidence": 0.9, "note": "why"}
    one = surety.mean(cells, bounds=(0, 5), where="value > 1", weight=2, ledger=surety.Ledger.in_memory(), **promise)
    other = surety.release({"value": cells}, [surety.mean("value", bounds=(0, 5), where="value > 1", weight=2)], ledger=surety.Ledger.in_memory(), **promise)
    assert one.table == other.table and one.event == other.event


def test_of_a_column_of_data_the_promise_is_given_whole() -> None:
    promise: dict[str, Any] = {"unit": None, "epsilon": 1, "adjacency": "replace-one", "ledger": surety.Ledger.in_memory()}
    for name in promise:
        with pytest.raises(TypeError, match=f"and {name} must be given"):
            surety.mean([1.0, 2.0], bounds=(0, 5), **{key: one for key, one in promise.items() if key != name})
    with pytest.raises(TypeError, match="and epsilon, adjacency, unit, ledger must be given; of a named column the first argument is its name"):
        surety.mean(["x", "y"], bounds=(0, 5))  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="unit must be None for a column of data"):
        surety.mean([1.0], bounds=(0, 5), **{**promise, "unit": "person"})
    with pytest.raises(TypeError, match="column is 'x', must be a column of data"):
        surety.mean("x", bounds=(0, 5), **promise)
    with pytest.raises(TypeError, match="unexpected keyword argument 'by'"):
        surety.mean([1.0], bounds=(0, 5), by="g", **promise)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="bounds is missing"):
        surety.mean([1.0], **promise)
    assert surety.Ledger.in_memory(adjacency="replace-one").audit(0.1)["runs"] == []
