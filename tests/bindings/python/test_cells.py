"""What a cell counts as depends on the cell alone: columns of NumPy and of Python objects."""

from __future__ import annotations

import datetime
import decimal
import fractions
import math
from typing import Any

import numpy as np
import pytest

import surety_dp as surety
from surety_dp._sources import classes_of, columns_of, numbers_of, texts_of

D = decimal.Decimal
ROWS: dict[str, Any] = {"unit": None, "epsilon": 1e6, "adjacency": "add-or-remove-one"}
UTC = datetime.timezone.utc
NOON = datetime.datetime(2017, 6, 1, 12)
DAY = 17318


def nearly(data: Any, *statistics: surety.Statistic, **more: Any) -> list[float]:
    """The values where there is next to no noise."""
    released = surety.release(data, list(statistics), ledger=surety.Ledger.in_memory(), **{**ROWS, **more})
    return [round(row.value, 2) for row in released.table if row.value is not None]


NAN = math.nan
#: Objects, their numbers and their texts; NaN and None where there is none.
CELLS: list[tuple[Any, float, str | None]] = [
    (7, 7, "7"),
    (7.0, 7, "7"),
    (D("7"), 7, "7"),
    (D("7.00"), 7, "7"),
    (D("0.7E+1"), 7, "7"),
    (fractions.Fraction(14, 2), 7, "7"),
    (7 + 0j, 7, "7"),
    ("7", 7, "7"),
    ("7.00", 7, "7.00"),
    (" 7", 7, " 7"),
    ("a", NAN, "a"),
    ("", NAN, None),
    (" ", NAN, None),
    (b"7", 7, "7"),
    (b"caf\xc3\xa9", NAN, "café"),
    ("café", NAN, "café"),
    (np.str_("x"), NAN, "x"),
    (True, 1, "true"),
    (np.bool_(False), 0, "false"),
    ("true", NAN, "true"),
    (-0.0, 0, "0"),
    (D("-0.00"), 0, "0"),
    (1.5, 1.5, "1.5"),
    (D("1.50"), 1.5, "1.5"),
    (0.1, 0.1, "0.1"),
    (np.float32(0.1), float(np.float32(0.1)), repr(float(np.float32(0.1)))),
    (1e-7, 1e-7, "1e-07"),
    (D("1E-7"), 1e-7, "0.0000001"),
    (D("0.10000000000000000000001"), 0.1, "0.10000000000000000000001"),
    (2.0**53, 2.0**53, "9007199254740992"),
    (2**53 + 1, 2.0**53, "9007199254740993"),
    (2.0**53 + 2, 2.0**53 + 2, None),
    (1e300, 1e300, None),
    (2**64, 2.0**64, "18446744073709551616"),
    (-(2**70), -(2.0**70), str(-(2**70))),
    (D("1E+80"), 1e80, str(10**80)),
    (10**308, 1e308, str(10**308)),
    (10**309, NAN, None),
    (-(10**5000), NAN, None),
    (D("1E+400"), NAN, None),
    (D("1E+999999"), NAN, None),
    (D("1E-999999"), 0, "1E-999999"),
    (D("Infinity"), NAN, None),
    (-math.inf, NAN, None),
    (None, NAN, None),
    (NAN, NAN, None),
    (np.float32("nan"), NAN, None),
    (D("NaN"), NAN, None),
    (D("sNaN"), NAN, None),
    (np.datetime64("NaT"), NAN, None),
    (datetime.date(2017, 6, 1), DAY, "2017-06-01"),
    (datetime.datetime(2017, 6, 1), DAY, "2017-06-01"),
    (NOON, DAY + 0.5, "2017-06-01 12:00:00"),
    (NOON.replace(microsecond=500000), DAY + 0.5 + 0.5 / 86400, "2017-06-01 12:00:00.5"),
    (NOON.replace(tzinfo=UTC), DAY + 0.5, "2017-06-01 12:00:00"),
    (NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=12))), DAY, "2017-06-01"),
    (np.datetime64("2017-06-01"), DAY, "2017-06-01"),
    (np.datetime64("2017-06"), DAY, "2017-06-01"),
    (np.datetime64("2017-06-01T12:00"), DAY + 0.5, "2017-06-01 12:00:00"),
    (np.datetime64("2017-06-01T12:00:00.000000001"), DAY + 0.5 + 1e-9 / 86400, "2017-06-01 12:00:00.000000001"),
    (np.datetime64(2**62, "D"), 106751991167300.0, None),
    (datetime.timedelta(hours=36), 1.5, "1.5"),
    (np.timedelta64(36, "h"), 1.5, "1.5"),
    (np.timedelta64(3, "D"), 3, "3"),
    (np.timedelta64(3, "M"), NAN, None),
    (datetime.time(6), 0.25, "06:00:00"),
    ([7], NAN, None),
    ({}, NAN, None),
    (object(), NAN, None),
    (1 + 1j, NAN, None),
    (np.void(b"7"), NAN, None),
]


class Raising:
    """An object that nobody can ask."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("a secret")


def test_each_object_is_a_cell_of_its_own() -> None:
    objects = [cell for cell, _, _ in CELLS] + [Raising()]
    wanted = [number for _, number, _ in CELLS] + [NAN]
    array = np.empty(len(objects), object)
    for place, cell in enumerate(objects):
        array[place] = cell
    for column in (objects, tuple(objects), array):
        assert np.array_equal(numbers_of(column), wanted, equal_nan=True)
        assert texts_of(column) == [text for _, _, text in CELLS] + [None]
    for (cell, number, text), whole in zip(CELLS, numbers_of(objects), strict=False):
        assert np.array_equal(numbers_of([cell]), [number], equal_nan=True) and texts_of([cell]) == [text], "alone as among others"
        assert np.array_equal(whole, number, equal_nan=True)


#: Columns of one type, and Python objects that are equal to their cells.
TYPED: list[tuple[Any, list[Any]]] = [
    (np.array([7, -3, 0], np.int8), [7, -3, 0]),
    (np.array([7, 2**64 - 1], np.uint64), [7, 2**64 - 1]),
    (np.array([7, NAN, math.inf, 1.5, 1e300, -0.0]), [7, None, math.inf, 1.5, 1e300, 0]),
    (np.array([7, NAN, 0.1], np.float32), [7, None, np.float32(0.1)]),
    (np.array([7, 0.5], ">f8"), [7, 0.5]),
    (np.array([7, NAN, 0.5], np.longdouble), [7, None, 0.5]),
    (np.array([7, 1j, 0.5]), [7, None, 0.5]),
    (np.array([True, False]), [True, False]),
    (np.array(["7", "7.0", "", "x"]), ["7", "7.0", "", "x"]),
    (np.array([b"7", b"x"]), ["7", "x"]),
    (np.array(["2017-06-01", "NaT"], "M8[D]"), [datetime.date(2017, 6, 1), None]),
    (np.array(["2017-06"], "M8[M]"), [datetime.date(2017, 6, 1)]),
    (np.array([2**62, -(2**62)], "M8[D]"), [np.datetime64(2**62, "D"), np.datetime64(-(2**62), "D")]),
    (np.array([2**62], "m8[W]"), [np.timedelta64(2**62, "W")]),
    (np.array([36, "NaT"], "m8[h]"), [datetime.timedelta(hours=36), None]),
    (np.array([10**12], "m8[ps]"), [datetime.timedelta(seconds=1)]),
    (np.array([1], "m8[M]"), [None]),
    (np.array([b"ab"], "V2"), [None]),
    *((np.array(["2017-06-01T12:00", "NaT", "2017-06-01"], f"M8[{unit}]"), [NOON, None, NOON.date()]) for unit in ("h", "m", "s", "ms", "us", "ns")),
    (np.ma.MaskedArray([7, 8, NAN], [False, True, False]), [7, None, None]),
    (np.ma.MaskedArray(np.array(["M8", "x"]), [True, False]), [None, "x"]),
]


@pytest.mark.parametrize(("column", "objects"), TYPED, ids=[str(column.dtype) for column, _ in TYPED])
def test_a_column_of_one_type_counts_as_its_objects(column: Any, objects: list[Any]) -> None:
    assert np.array_equal(numbers_of(column), numbers_of(objects), equal_nan=True)
    assert texts_of(column) == texts_of(objects)
    for missing in ("missing(x)", "missing(x) or x > 1e300"):
        count = surety.count(where=missing)
        assert nearly({"x": column}, count) == nearly({"x": objects}, count)


def test_random_floats_are_written_as_python_writes_them() -> None:
    random = np.random.default_rng(1)
    floats = random.integers(0, 2**64, 20000, np.uint64).view(np.float64)
    floats = np.concatenate([floats, random.normal(size=20000), np.round(random.normal(size=20000) * 1e4, 2), 10.0 ** np.arange(-30, 20)])
    wanted = [None if not abs(one) <= 2**53 else str(int(one)) if one.is_integer() else repr(one) for one in floats.tolist()]
    assert texts_of(floats) == wanted == texts_of(floats.tolist())


def test_classes_of_truth_values_and_numbers() -> None:
    labels = [True, 1, 1.0, D("1.00"), np.int8(1), "1", False, 0, "true", "1.0", None, 2, "no"]
    assert classes_of(labels, ["0", "1"]).tolist() == [1, 1, 1, 1, 1, 1, 0, 0, -1, -1, -1, -1, -1]
    assert classes_of(labels, ["true", "false"]).tolist() == [0, -1, -1, -1, -1, -1, 1, -1, 0, -1, -1, -1, -1]
    call: dict[str, Any] = {"label": "y", "classes": ["0", "1", "2"], "unit": None, "epsilon": 100, "delta": 1e-6, "adjacency": "replace-one", "held_out": 0}
    x = np.arange(60) % 3
    texts = []
    for y in ([["0", "1", "2"][one] for one in x], [[False, True, 2.0][one] for one in x], [[0.0, D("1.0"), 2][one] for one in x]):
        model = surety.train({"x": x, "y": y}, bounds={"x": (0, 2)}, replay_seed=3, algorithm="shaped-descent", ledger=surety.Ledger.in_memory(), **call)
        texts.append(model.text())
        assert model.report is not None and model.report["damaged_records_not_private"] == 0
    assert len(set(texts)) == 1


#: One cell that another package would have let decide the type of its column.
OTHERS: list[Any] = [None, NAN, 7.5, D("1.25"), "a", True, 2**70, datetime.date(2017, 6, 1), datetime.timedelta(days=3), b"x", [1], math.inf, 2.0**60, np.datetime64("NaT")]


@pytest.mark.parametrize("kind", [list, lambda column: np.array(column, object)], ids=["list", "object"])
@pytest.mark.parametrize("base", [7, 7.0, D("7")], ids=["int", "float", "Decimal"])
def test_one_cell_never_changes_how_others_are_read(base: Any, kind: Any) -> None:
    asked = [
        surety.count(by="g", keys=["7"]),
        surety.histogram("g", categories=["7"]),
        surety.count(where="g == 7"),
        surety.count(where="g == '7'"),
        surety.mean("g", bounds=(0, 8)),
    ]
    for other in OTHERS:
        frame = {"g": kind([base] * 99 + [other])}
        found = nearly(frame, *asked)
        assert found[:4] == [99, 99, 99, 99] and 6.9 <= found[4] <= 7.1, other
        # An owner of nine rows, of one, and whoever the other cell names.
        assert nearly({"who": kind([base] * 9 + [8, other]), "x": np.ones(11)}, surety.sum("x", bounds=(0, 1)), unit="who", most=2) == [4], other


def test_owners_are_whole_floats_and_times() -> None:
    who = np.repeat(np.arange(100), 3)
    days = np.datetime64("2020-01-01") + who
    for owners in (who, who.astype(str), who.astype(float), who.astype(np.float32), [D(one) for one in who.tolist()], days, days.astype("M8[ns]"), days.tolist()):
        assert nearly({"who": owners, "x": np.ones(300)}, surety.sum("x", bounds=(0, 1)), unit="who", most=2) == [200]
    # Two identifiers may have become one float: such rows have no owner.
    large = np.concatenate([who[:150] * 1.0, np.full(150, 2.0**60)])
    assert nearly({"who": large, "x": np.ones(300)}, surety.sum("x", bounds=(0, 1)), unit="who", most=2) == [102]


HOURS = np.datetime64("2024-01-01T00:00:00") + np.arange(1000).astype("m8[h]")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_are_compared_as_days(unit: str) -> None:
    frame = {"d": HOURS.astype(f"M8[{unit}]")}
    for where in ("d >= 2024-01-10", "d >= '2024-01-10'", "not (d < 2024-01-10)"):
        assert nearly(frame, surety.count(where=where)) == [784]
        assert nearly(frame, surety.count(where=where, types={"d": "date"})) == [784]
    assert nearly(frame, surety.count(where="d == 2024-01-10"), surety.count(by="d", keys=["2024-01-10", "2024-01-10 01:00:00", "x"])) == [24, 1, 1, 0]


def test_timestamps_of_files_are_those_of_frames(tmp_path: Any) -> None:
    path = tmp_path / "hours.csv"
    for form in ("{} {}", "{}T{}Z", "{} {}.000+00:00"):
        path.write_text("d\n" + "".join(form.format(*str(hour).split("T")) + "\n" for hour in HOURS))
        assert nearly(path, surety.count(where="d >= 2024-01-10"), surety.count(where="d < '2024-01-10'", types={"d": "date"})) == [784, 216]


def test_times_count_in_days() -> None:
    durations = (np.arange(1000) % 60).astype("m8[D]")
    for unit in ("D", "h", "s", "ns"):
        assert abs(nearly({"x": durations.astype(f"m8[{unit}]")}, surety.mean("x", bounds=(0, 60)))[0] - 29.1) < 0.05
    days = np.datetime64("2020-01-01") + np.arange(100)
    found = {nearly({"x": days.astype(f"M8[{unit}]")}, surety.mean("x", bounds=(0, 20000)))[0] for unit in ("D", "s", "ns")}
    assert len(found) == 1 and abs(found.pop() - np.mean(days.astype(int))) < 0.05


def test_reports_name_the_unit_of_declared_dates() -> None:
    days = np.datetime64("2020-01-01") + np.arange(100)
    text = "d is in days since 1970-01-01"

    def released(**said: Any) -> surety.Released:
        ledger = surety.Ledger.in_memory(adjacency="add-or-remove-one")
        return surety.release({"d": days}, [surety.mean("d", bounds=(18000, 19000), **said), surety.count()], ledger=ledger, **ROWS)

    of_dates = released(types={"d": "date"})
    assert of_dates.column_units == {"d": "days since 1970-01-01"}
    assert text in repr(of_dates) and f"<p>{text}</p>" in of_dates._repr_html_()
    # A package infers the type of a column from all cells, so it declares nothing.
    inferred = released()
    assert inferred.column_units == {} and text not in repr(inferred)


def test_comparisons_that_no_cell_can_meet() -> None:
    """Refused where the type is declared; where a package has inferred it, one cell may have decided, and no cell matches."""
    data = {"b": np.array([True, False, True]), "age": np.array([40, 41, 42])}
    never = [("b == True", "b", "boolean"), ("age == forty", "age", "number"), ("age == '40.5'", "age", "integer"), ("age >= 2020-01-01", "age", "number")]
    for where, column, kind in never:
        assert nearly(data, surety.count(where=where)) == [0]
        ledger = surety.Ledger.in_memory(adjacency="add-or-remove-one")
        with pytest.raises(surety.InvalidArgument, match=f"which no cell of column '{column}' can meet") as refused:
            surety.release(data, [surety.count(where=where, types={column: kind})], ledger=ledger, **ROWS)
        assert "\n" not in str(refused.value) and ledger.audit(1e-6)["runs"] == []
    assert nearly(data, surety.count(where="b == true", types={"b": "boolean"}), surety.count(where="b == 1"), surety.count(where="age == 40", types={"age": "integer"})) == [2, 2, 1]


def test_tables_of_rows_and_matrices_have_columns() -> None:
    assert {name: list(column) for name, column in columns_of([[1, "a"], [2.5, None]]).items()} == {"x0": [1, 2.5], "x1": ["a", None]}
    assert [column.tolist() for column in columns_of(np.arange(4).reshape(2, 2)).values()] == [[0, 2], [1, 3]]
    with pytest.raises(surety.InvalidArgument, match="rows of different lengths"):
        columns_of([[1], [1, 2]])


def test_control_c_ends_a_conversion() -> None:
    class Stopping(datetime.date):
        def toordinal(self) -> int:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        numbers_of([1, Stopping(2020, 1, 1)])
