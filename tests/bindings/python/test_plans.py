"""Plans of releases: what they cost is what the command says, and what they refuse is said in Python's words."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest

import surety_dp as surety
from surety_dp import _statistics

COMMAND = os.environ["SURETY_COMMAND"]
HOURS = surety.mean("hours", bounds=(0, 5000))
PANEL: dict[str, Any] = {"unit": "nr", "most": 8, "epsilon": 1, "delta": 1e-6, "adjacency": "add-or-remove-one"}
ROWS: dict[str, Any] = {"unit": None, "epsilon": 0.5, "adjacency": "replace-one"}


def command(*words: str) -> str:
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=True).stdout


def test_a_plan_is_the_one_of_the_command(tmp_path: Path) -> None:
    statistics = [HOURS, surety.count(where="exper > 10"), surety.median("lwage", bounds=(0, 5), weight=4)]
    plan = surety.plan(statistics, **PANEL, note="men")
    objects = [
        '{"query": "mean(hours)", "bounds": [0, 5000]}',
        '{"query": "count()", "where": "exper > 10"}',
        '{"query": "median(lwage)", "bounds": [0, 5], "weight": 4}',
    ]
    words = [word for text in objects for word in ("--query", text)]
    promise = ["--epsilon", "1", "--delta", "1e-6", "--adjacency", "add-or-remove-one", "--unit", "nr", "--most", "8"]
    printed = json.loads(command("release", "men.csv", *words, *promise, "--note", "men", "--ledger", "none.db", "--print-plan"))
    said = json.loads(plan.json())
    assert said["event"] == printed["event"] and said["noise"] == printed["noise"] == plan.noise and said["unit"] == printed["unit"]
    assert str(plan.event) in repr(plan) and plan.cost.upper <= 1 and plan.unit.startswith("one nr of at most 8 rows")
    # The command runs it.
    file = tmp_path / "plan.json"
    file.write_text(plan.json())
    again = json.loads(command("release", "men.csv", "--plan", str(file), "--ledger", "none.db", "--print-plan"))
    assert again["event"] == printed["event"] and again["noise"] == printed["noise"]


def test_every_word_of_a_plan_reaches_the_library() -> None:
    """The keywords are the rows of the library, and each is passed on as the plan spells it."""
    rows = {name for name, *_ in surety._library.release_fields()}
    elsewhere = {"data", "query", "queries", "svg", "ledger", "ledger_must_exist", "unit", "most"}
    of_queries = {"where", "bounds", "clip_unit_sum", "bins", "edges", "categories", "top", "candidates", "interval", "most_keys", "by", "keys", "key_bounds", "key_bins", "key_edges", "most_per_group"}
    from surety_dp._release import PlanFields

    assert set(PlanFields.__annotations__) == rows - elsewhere - of_queries
    for name in PlanFields.__annotations__:
        assert f"\n{name} : optional\n" in (surety.plan.__doc__ or "") and f"\n{name} : optional\n" in (surety.release.__doc__ or "")
    plan = surety.plan(
        [HOURS],
        **PANEL,
        empty_unit="each",
        noise="laplace",
        confidence=0.9,
        missing={"hours": 40, "town": 'New York, "NY"'},
        complete=["age", "a,b"],
        delimiter=";",
        decimal=",",
        thousands=".",
        columns=["nr", "hours", "town", "age", "a,b"],
        quoted_lines=7,
        form_is_public=True,
        no_limits=True,
        note="why",
        replay_seed=7,
    )
    options = json.loads(plan.json())["options"]
    assert {name: options[name] for name in ("empty-unit", "noise", "confidence", "delimiter", "decimal", "thousands", "quoted-lines")} == {
        "empty-unit": "each",
        "noise": "laplace",
        "confidence": 0.9,
        "delimiter": ";",
        "decimal": ",",
        "thousands": ".",
        "quoted-lines": 7,
    }
    assert options["missing"] == ['"hours"="40.0"', '"town"="New York, ""NY"""'] and options["complete"] == '"age","a,b"'
    assert options["columns"] == '"nr","hours","town","age","a,b"' and options["form-is-public"] and options["no-limits"]
    assert (options["note"], options["replay-seed"], options["unit"], options["most"]) == ("why", 7, "nr", 8)


def test_every_statistic_is_an_object_of_a_plan() -> None:
    made = {
        "count": surety.count(where="x > 1", types={"x": "number"}, by="g", keys=["a", "b"]),
        "sum": surety.sum("x", bounds=(0, 1), by="g", key_bounds=(0, 9), key_bins=3),
        "mean": surety.mean("x", bounds=(-1, 1.5), weight=2),
        "variance": surety.variance("x", bounds=(0, 1)),
        "median": surety.median("x", bounds=(0, 1), candidates=100),
        "quantile": surety.quantile("x", 0.5, 0.9, bounds=(0, 1), by="g", keys=["a"]),
        "bins": surety.histogram("x", bounds=(0, 1), bins=4),
        "categories": surety.histogram("g", categories=["a", "b"]),
        "keys": surety.keys("g", most_keys=1),
        "units": surety.count_units(where="x > 1"),
        "clipped": surety.sum("x", clip_unit_sum=(0, 1)),
        "discovered": surety.mean("x", bounds=(0, 1), by="g", keys="discovered", most_keys=1),
        "distinct": surety.count_distinct("g", most_keys=1),
        "mode": surety.mode("g", categories=["a", "b", 7], top=2),
        "edges": surety.histogram("x", edges=(0, 18, 65.5), by="y", key_edges=[-1, 0, 1]),
        "expression": surety.quantile(surety.Expression("log(x)/ \"y, 0.5\" "), 0.5, 0.9, bounds=(0, 1)),
    }
    plan = surety.plan(made.values(), unit=None, epsilon=8, delta=1e-3, adjacency="add-or-remove-one")
    queries = json.loads(plan.json())["options"]["query"]
    assert queries[0] == {"function": "count", "where": "x > 1", "types": {"x": "number"}, "by": "g", "keys": ["a", "b"]}
    assert queries[1] == {"function": "sum", "column": "x", "bounds": [0, 1], "by": "g", "key_bounds": [0, 9], "key_bins": 3}
    assert queries[4]["function"] == "median" and queries[8]["most_keys"] == 1
    assert [queries[5][name] for name in ("function", "column", "fractions")] == ["quantile", "x", [0.5, 0.9]]
    assert queries[9] == {"function": "count_units", "where": "x > 1"}
    assert queries[10] == {"function": "sum", "column": "x", "clip_unit_sum": [0, 1]}
    assert queries[11] == {"function": "mean", "column": "x", "bounds": [0, 1], "by": "g", "keys": "discovered", "most_keys": 1}
    assert queries[12] == {"function": "count_distinct", "column": "g", "most_keys": 1}
    assert queries[13] == {"function": "mode", "column": "g", "categories": ["a", "b", "7"], "top": 2}
    assert queries[14] == {"function": "histogram", "column": "x", "edges": [0, 18, 65.5], "by": "y", "key_edges": [-1, 0, 1]}
    assert queries[15] == {"function": "quantile", "expression": 'log(x)/ "y, 0.5" ', "fractions": [0.5, 0.9], "bounds": [0, 1]}
    assert repr(made["expression"]) == """<Statistic quantile(Expression('log(x)/ "y, 0.5" '), 0.5, 0.9, bounds=[0.0, 1.0])>"""
    assert pickle.loads(pickle.dumps(made["expression"])) == made["expression"]
    assert repr(made["mean"]) == "<Statistic mean('x', bounds=[-1.0, 1.5], weight=2.0)>"
    assert surety.mean("x", bounds=[-1, 1.5], weight=2) == made["mean"] != made["sum"]  # type: ignore[call-overload]
    assert len({*made.values(), pickle.loads(pickle.dumps(made["bins"]))}) == len(made)
    with pytest.raises(TypeError, match="made by surety.mean"):
        surety.Statistic()


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"epsilon": float("nan")}, ValueError, "epsilon is nan, must be finite and at least 0"),
    ({"delta": 2}, ValueError, "delta is 2, must be"),
    ({"epsilon": "1"}, TypeError, "epsilon is '1', must be a number"),
    ({"adjacency": "replace"}, ValueError, "adjacency is 'replace', must be"),
    ({"adjacency": None}, TypeError, "adjacency is None, must be a text"),
    ({"unit": 3}, TypeError, "unit is 3, must be a text"),
    ({"unit": "nr"}, ValueError, "most is missing: unit needs a public number of rows"),
    ({"most": 3}, ValueError, "unit is missing: most is the number of rows"),
    ({"unit": "nr", "most": 0}, ValueError, "most is '0', must be a whole number from 1"),
    ({"unit": "nr", "most": 2.5}, TypeError, "most is 2.5, must be a whole number"),
    ({"unit": "nr", "most": 8, "empty_unit": "none"}, ValueError, "empty_unit is 'none', must be one or each"),
    ({"confidence": 1}, ValueError, "confidence is 1, must be greater than 0 and less than 1"),
    ({"noise": "cauchy"}, ValueError, "noise is 'cauchy', must be best or laplace or gaussian"),
    ({"missing": ["hours"]}, TypeError, "missing is of type list, must be a mapping"),
    ({"complete": "hours"}, TypeError, "complete is 'hours', must be a list of texts"),
    ({"columns": ["a", "a"]}, ValueError, "columns names column 'a' twice"),
    ({"form_is_public": 1}, TypeError, "form_is_public is 1, must be True or False"),
    ({"schema": 7}, TypeError, "schema is 7, must be a path"),
    ({"note": "\ud800"}, ValueError, "note has half of a surrogate pair"),
    ({"replay_seed": -1}, ValueError, "replay_seed is -1, must be a whole number from 0"),
    ({"limit": 1}, TypeError, r"plan\(\) got an unexpected keyword argument 'limit'$"),
    ({"colums": ["a"]}, TypeError, r"plan\(\) got an unexpected keyword argument 'colums'; did you mean 'columns'\?"),
    ({"seed": 3}, TypeError, r"argument 'seed'; private noise has no seed; replay_seed replays noise and is NOT PRIVATE$"),
    ({"statistics": HOURS}, TypeError, "statistics must be a list of surety.Statistic"),
    ({"statistics": []}, TypeError, "statistics must be a list of surety.Statistic"),
    ({"statistics": ["mean(hours)"]}, TypeError, "statistics must be a list of surety.Statistic"),
    ({"statistics": [surety.mean("hours")]}, ValueError, r"query: bounds is missing: mean\(\) needs public bounds"),
    ({"statistics": [HOURS, surety.mean("hours", bounds=(1, 0))]}, ValueError, "query 2: bounds"),
    ({"statistics": [surety.count(where="hours >")]}, ValueError, "where"),
]


@pytest.mark.parametrize(("change", "kind", "message"), REFUSED)
def test_what_is_refused_is_one_line_with_name_value_and_constraint(change: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as refused:
        surety.plan(**{"statistics": [HOURS], **ROWS, **change})
    assert "\n" not in str(refused.value) and "--" not in str(refused.value)
    assert isinstance(refused.value, surety.SuretyError) == (kind is ValueError)


def test_what_no_noise_keeps_is_refused() -> None:
    with pytest.raises(surety.SuretyError, match="need delta > 0") as refused:
        surety.plan([surety.keys("town")], **ROWS)
    assert refused.value.code == surety.ErrorCode.UNSUPPORTED


def test_of_a_promise_nothing_has_a_default() -> None:
    for missing in ("unit", "epsilon", "adjacency"):
        with pytest.raises(TypeError, match=f"missing 1 required keyword-only argument: '{missing}'"):
            surety.plan([HOURS], **{name: value for name, value in ROWS.items() if name != missing})


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: surety.mean(3), TypeError, "column is 3, must be a text"),  # type: ignore[call-overload]
        (lambda: surety.mean("x", bounds=3), TypeError, "bounds is 3, must be a pair of numbers"),  # type: ignore[call-overload]
        (lambda: surety.mean("x", bounds="01"), TypeError, "bounds is '01', must be a pair of numbers"),  # type: ignore[call-overload]
        (lambda: surety.mean("x", bounds=(1, 2, 3)), ValueError, "bounds has 3 numbers, must have 2"),  # type: ignore[arg-type]
        (lambda: surety.mean("x", bounds=(0, float("inf"))), ValueError, "bounds is inf, must be finite"),
        (lambda: surety.mean("x", bounds=(0, 10**400)), ValueError, "bounds is of type int, must be a number that a float holds"),
        (lambda: surety.mean("x", bound=(0, 1)), TypeError, r"mean\(\) got an unexpected keyword argument 'bound'; did you mean 'bounds'\?"),  # type: ignore[call-overload]
        (lambda: surety.mean("x", group_by="g"), TypeError, "argument 'group_by'; Surety calls it by$"),  # type: ignore[call-overload]
        (lambda: surety.train("x", learning_rate=1), TypeError, "argument 'learning_rate'; Surety calls it step_size$"),  # type: ignore[call-arg]
        (lambda: surety.keys("x", by="g"), TypeError, r"keys\(\) got an unexpected keyword argument 'by'"),  # type: ignore[call-arg]
        (lambda: surety.histogram("x", bins=2.5), TypeError, "bins is 2.5, must be a whole number"),  # type: ignore[call-overload]
        (lambda: surety.histogram("x", bins=10**30), ValueError, "bins is beyond 2"),
        (lambda: surety.count(by="g", keys=["a", b"b"]), TypeError, "an item of keys is b'b', must be a text, a number or a truth value"),
        (lambda: surety.count(types=["x"]), TypeError, "types is of type list, must be a mapping"),  # type: ignore[arg-type]
        (lambda: surety.count(weight="2"), TypeError, "weight is '2', must be a number"),  # type: ignore[arg-type]
    ],
)
def test_statistics_refuse_other_types(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()


def test_a_schema_says_bounds_but_no_unit_behind_ones_back(tmp_path: Path) -> None:
    column = {"name": "hours", "type": "number", "bounds": [0, 5000]}
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"surety_schema": 1, "columns": [column]}))
    with_schema = surety.plan([surety.mean("hours")], **ROWS, schema=schema)
    assert with_schema.event == surety.plan([HOURS], **ROWS).event
    schema.write_text(json.dumps({"surety_schema": 1, "columns": [column], "unit": "nr", "most": 3}))
    with pytest.raises(ValueError, match="unit is None, must be the one of the schema, one nr of at most 3 rows"):
        surety.plan([HOURS], **ROWS, schema=schema)
    assert surety.plan([HOURS], **PANEL, schema=schema).unit.startswith("one nr of at most 8 rows")


def test_a_plan_is_no_pickle() -> None:
    with pytest.raises(TypeError, match="does not pickle"):
        pickle.dumps(surety.plan([HOURS], **ROWS))
    with pytest.raises(TypeError, match="made by surety.plan"):
        surety.Plan()


def queries_in(schema: Any) -> list[set[str]]:
    """The members of each form of a query in the schema of plans."""
    if isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict) and "clip_unit_sum" in properties:
            return [set(properties)]
        return [found for one in schema.values() for found in queries_in(one)]
    return [found for one in schema for found in queries_in(one)] if isinstance(schema, list) else []


def test_statistics_take_every_option_of_a_query() -> None:
    schema = json.loads((Path(__file__).parents[3] / "docs" / "reference" / "plan.schema.json").read_text())
    (members,) = {frozenset(members) for members in queries_in(schema) if "function" in members}
    assert members - {"function", "column", "expression", "fractions"} == set(_statistics._HOW)
