"""Names of columns are values of their own: whatever stands in one, the column that was named is read. A column holds one number in all of its rows, so that
an answer says which column it is of."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surety_dp as surety

COMMAND = os.environ["SURETY_COMMAND"]
ROWS = 20
#: With so little noise that it does not show.
LOUD: dict[str, Any] = {"unit": None, "epsilon": 1e9, "adjacency": "replace-one", "replay_seed": 3}

CHOSEN = [
    *("pad", " pad", "pad ", "\tpad", "age", "age, 0.5", "age,0.5", "0.5", "-1", "1e5", "nan", "--x", "--where", "@bounds", "@", "a, b", '"', '""', '"a"', 'a"b'),
    *('"a", "b"', "'", "'a'", "a) where b", '"a) where b"', ") where ", ")", "(", "()", "(a)", "a)b(", "mean(a)", "count()", "units", "distinct a", "discovered"),
    *("row", "column row", "not", "not a", "missing(a)", "present(a)", "and", "a or b", "a=b", "a>b", "a<=1", "!", "a:b", "a;b", '{"query": "count()"}', "[a]"),
    *("\\", "a\nb", "a\rb", "straße 東京", " ", "y", "owner"),
]
PIECES = ["a", "b", " ", ",", '"', "'", "(", ")", "=", "<", ">", "!", ":", ";", "\\", "\n", "\t", "0.5", "-", "@", "{", "}", ") where ", "and", "é", "7", ", 0.5"]


def hostile_names(count: int) -> list[str]:
    chance = random.Random(42)
    names = dict.fromkeys(CHOSEN[:count])
    while len(names) < count:
        names.setdefault("".join(chance.choices(PIECES, k=chance.randint(1, 6))))
    return list(names)


NAMES = hostile_names(1000)


def table(names: list[str] = NAMES) -> dict[str, Any]:
    """Column k holds k + 1."""
    return {name: np.full(ROWS, place + 1.0) for place, name in enumerate(names)}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def values(statistics: list[surety.Statistic], names: list[str] = NAMES, **more: Any) -> list[float]:
    released = surety.release(table(names), statistics, ledger=surety.Ledger.in_memory(), **{**LOUD, **more})
    return [query["value"] for query in json.loads(released.json())["queries"]]


def test_a_statistic_reads_the_column_that_was_named() -> None:
    truths = [place + 1 for place in range(len(NAMES))]
    assert values([surety.mean(name, bounds=(0, 2000)) for name in NAMES]) == pytest.approx(truths, abs=0.1)
    # The condition names the next column, in quotes.
    names = NAMES[:200]
    conditions = [f"{quoted(NAMES[place + 1])} == {place + 2}" for place in range(200)]
    made = [surety.mean(name, bounds=(0, 2000), where=where) for name, where in zip(names, conditions, strict=True)]
    assert values(made, NAMES) == pytest.approx(truths[:200], abs=0.1)


def test_the_columns_of_the_review_are_told_apart() -> None:
    """Case 15: ``pad`` and ``" pad"``, ``age`` and ``"age, 0.5"``."""
    four = {"pad": 1, " pad": 7, "age": 20, "age, 0.5": 950}
    data = {name: np.full(200, value) for name, value in four.items()}
    for name, value in four.items():
        made: list[surety.Statistic] = [
            surety.mean(name, bounds=(0, 1000)),
            surety.sum(name, bounds=(0, 1000)),
            surety.median(name, bounds=(0, 1000)),
            surety.quantile(name, 0.9, bounds=(0, 1000)),
            surety.histogram(name, bounds=(0, 1000), bins=1000),
            surety.count(by=name, keys=[value]),
            surety.count(where=f"{quoted(name)} == {value}"),
        ]
        queries = json.loads(surety.release(data, made, ledger=surety.Ledger.in_memory(), **LOUD).json())["queries"]
        assert [query["value"] for query in queries[:4]] == pytest.approx([value, 200 * value, value, value], abs=1), name
        assert max(queries[4]["cells"], key=lambda cell: cell["value"])["cell"].startswith(f"[{value:g}"), name
        assert queries[5]["groups"][0]["value"] == queries[6]["value"] == 200, name
    with pytest.raises(surety.SuretyError, match="column ' pad' is missing"):
        surety.release({"pad": np.ones(3)}, [surety.mean(" pad", bounds=(0, 1))], ledger=surety.Ledger.in_memory(), **LOUD)


def test_a_plan_holds_names_and_numbers_and_no_text_of_both(tmp_path: Path) -> None:
    made = surety.quantile("age, 0.5", 0.9, bounds=(0, 1))
    assert repr(made) == "<Statistic quantile('age, 0.5', 0.9, bounds=[0.0, 1.0])>"
    plan = json.loads(surety.plan([made, surety.distinct("a, b", '"'), surety.count_distinct(" x")], **{**LOUD, "epsilon": 1, "adjacency": "add-or-remove-one", "delta": 1e-3}).json())
    assert plan["version"] == 2
    assert plan["options"]["query"] == [
        {"function": "quantile", "column": "age, 0.5", "fractions": [0.9], "bounds": [0.0, 1.0]},
        {"function": "distinct", "column": ["a, b", '"']},
        {"function": "count_distinct", "column": " x"},
    ]
    # The command runs what Python printed. A header has no name with blanks around it.
    names = [name for name in NAMES if name == name.strip(" \t") and "\r" not in name][:200]
    written = tmp_path / "plan.json"
    written.write_text(surety.plan([surety.mean(name, bounds=(0, 2000)) for name in names], **LOUD).json())
    data = tmp_path / "table.csv"
    data.write_text("".join(",".join(row) + "\n" for row in [[quoted(name) for name in names]] + ROWS * [[str(place + 1) for place in range(len(names))]]))
    words = ["release", str(data), "--plan", str(written), "--ledger", str(tmp_path / "run.db"), "--json"]
    report = json.loads(subprocess.run([COMMAND, *words], capture_output=True, text=True, check=True).stdout)
    assert [query["value"] for query in report["queries"]] == pytest.approx([place + 1 for place in range(len(names))], abs=0.1)
    assert all("version 1" not in note for note in report["notes"])


def test_units_and_what_plans_say_of_columns_name_them_exactly() -> None:
    read = 0
    for name in hostile_names(60):
        try:
            surety.plan([surety.mean("x", bounds=(0, 1))], **{**LOUD, "unit": name, "most": 4})
        except ValueError as error:  # a ledger prints it
            assert "must be named by 1 to 64 bytes of printable UTF-8" in str(error)
            continue
        read += 1
        owners = np.arange(ROWS) // 4
        data = {name: owners, name + "_": np.full(ROWS, 3.0), name.strip() + "?": np.full(ROWS, 5.0)}
        report = surety.release(
            data, [surety.count_units(where=f"{quoted(name + '_')} == 3"), surety.mean(name + "_", bounds=(0, 9))],
            **{**LOUD, "unit": name, "most": 4, "missing": {name + "_": 4}, "complete": [name.strip() + "?"]}, ledger=surety.Ledger.in_memory(),
        ).json()
        queries = json.loads(report)["queries"]
        assert [query["value"] for query in queries] == pytest.approx([5, 3], abs=0.1), name
    assert read > 50


def test_a_schema_describes_the_column_that_it_names(tmp_path: Path) -> None:
    schema, names = tmp_path / "schema.json", NAMES[:200]
    schema.write_text(json.dumps({"surety_schema": 1, "columns": [{"name": name, "bounds": [0, place + 0.5]} for place, name in enumerate(names)]}))
    # Column k holds k + 1, which its bounds clamp to k + 1/2.
    assert values([surety.mean(name) for name in names], names, schema=schema) == pytest.approx([place + 0.5 for place in range(200)], abs=0.1)


def test_a_training_reads_the_label_and_the_features_that_were_named() -> None:
    more: dict[str, Any] = {"algorithm": "gradient-descent", "steps": 1, "held_out": 0.0, "replay_seed": 3}
    promise: dict[str, Any] = {"unit": None, "epsilon": 1, "delta": 1e-5, "adjacency": "replace-one"}
    names = hostile_names(60)
    data: dict[str, Any] = {name: np.arange(ROWS) % (place + 2) for place, name in enumerate(names)}
    texts = {"town": np.array(["a", "b"] * (ROWS // 2), object)}
    for place, name in enumerate(names):
        others = [other for other in names if other != name]
        said: dict[str, Any] = {
            "bounds": {other: (0, 1 + place) for other in others[:30]},
            "missing": {others[0]: 1},
            "drop": [others[1], "town"],
            "categories": {others[2]: [0, 1, 2]},
            "pairs": [(others[3], others[4])],
        }
        said["bounds"] = {other: pair for other, pair in said["bounds"].items() if other not in others[1:3]}
        model = surety.train(data | texts, label=name, above=0, ledger=surety.Ledger.in_memory(), **promise, **more, **said)
        assert list(dict.fromkeys(column for column in model.columns)) == [other for other in others if other != others[1]]
        parsed = json.loads(model.text())
        assert parsed["features"]["pairs"] == [[others[3], others[4]]]
        plain = surety.train(data | texts, label=name, equals=1, ledger=surety.Ledger.in_memory(), **promise, **more, **said)
        assert list(plain.columns) == list(model.columns)
        if not any(operator in name for operator in "<>=!") and not name.strip().startswith(('"', "'")):
            bare = surety.train(data | texts, label=name, loss="squared", label_bounds=(0, 9), clip=1, ledger=surety.Ledger.in_memory(), **promise, **more, **said)
            assert list(bare.columns) == list(model.columns)
        classes = surety.plan_training(label=name, classes=["0", "1"], **promise, algorithm="shaped-descent", steps=1)
        assert json.loads(classes.json())["options"]["label"] in (name, quoted(name))


def test_a_comparison_that_is_a_columns_name_too_is_refused() -> None:
    data = {"a": np.arange(ROWS) * 1.0, "a>3": np.zeros(ROWS), "b": np.ones(ROWS)}
    promise: dict[str, Any] = {"unit": None, "epsilon": 1, "delta": 1e-5, "adjacency": "replace-one", "algorithm": "gradient-descent", "steps": 1}
    with pytest.raises(ValueError, match="label is 'a>3', a comparison and the name of a column, must be one of them"):
        surety.train(data, label="a>3", ledger=surety.Ledger.in_memory(), **promise)
    plan = surety.plan_training(label="a>3", **promise)
    with pytest.raises(ValueError, match="must be one of them"):
        plan.train(data, ledger=surety.Ledger.in_memory())
    assert "a>3" in surety.train(data, label="a", above=3, ledger=surety.Ledger.in_memory(), **promise).columns
    assert "a" in surety.train(data, label='"a>3"', loss="squared", label_bounds=(0, 1), clip=1, ledger=surety.Ledger.in_memory(), **promise).columns
    del data["a>3"]
    assert surety.train(data, label="a>3", ledger=surety.Ledger.in_memory(), **promise).classes_ == ("a<=3", "a>3")


def test_keys_and_categories_may_be_numbers_and_truth_values() -> None:
    made = surety.count(by="g", keys=[1, 2.0, np.int64(3), 0.5, True, np.bool_(False), "x"])
    assert made == surety.count(by="g", keys=["1", "2", "3", "0.5", "true", "false", "x"])
    assert surety.count(by=["g", "h"], keys=[[1, 2], ["a"]]) == surety.count(by=["g", "h"], keys=[["1", "2"], ["a"]])
    assert surety.histogram("g", categories=(0, 1)) == surety.histogram("g", categories=["0", "1"])
    data = {"g": np.array([0, 1, 1, 1]), "h": np.array([True, False, True, True])}
    report = surety.release(data, [surety.count(by="g", keys=[0, 1]), surety.histogram("h", categories=[True, False])], ledger=surety.Ledger.in_memory(), **LOUD).json()
    queries = json.loads(report)["queries"]
    assert [group["value"] for group in queries[0]["groups"]] == [1, 3]
    assert [cell["value"] for cell in queries[1]["cells"]] == [3, 1]
    for wrong in ([b"a"], [None], [[1], "a"], 7, "ab"):
        with pytest.raises(TypeError, match="keys"):
            surety.count(by="g", keys=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="an item of keys is nan, must be finite"):
        surety.count(by="g", keys=[float("nan")])


def test_a_message_shows_a_users_text_as_it_is() -> None:
    with pytest.raises(ValueError, match=r"where is 'a--where > 1 and', must") as refused:
        surety.plan([surety.mean("x", bounds=(0, 1), where="a--where > 1 and")], **LOUD)
    assert str(refused.value).startswith("query: where is ")
    with pytest.raises(ValueError, match=r"query: 'column' is empty, must name a column"):
        surety.plan([surety.mean("", bounds=(0, 1))], **LOUD)
    with pytest.raises(ValueError, match=r"columns names column '--most-keys' twice"):
        surety.plan([surety.mean("x", bounds=(0, 1))], columns=["--most-keys", "--most-keys"], **LOUD)
