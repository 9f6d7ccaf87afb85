"""Trainings: what the command trains, to the last byte under replay, from paths and from columns; what is refused has cost nothing."""

from __future__ import annotations

import csv
import json
import os
import pickle
import random
import re
import shlex
import subprocess
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surety_dp as surety
from surety_dp._train import TrainingFields

COMMAND = os.environ["SURETY_COMMAND"]
TESTS = Path(__file__).parents[2]
RECORDED = TESTS / "recorded"
EXAMPLES = TESTS.parent / "examples" / "data"
RANDOM_PLANS = int(os.environ.get("SURETY_RANDOM_PLANS", "12"))
KINDS = {name: kind for name, _, _, kind in surety._library.training_fields()}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of tests/recorded/run."""
    folder = tmp_path_factory.mktemp("data")
    with open(EXAMPLES / "randhie.csv") as file:
        (folder / "small.csv").write_text("".join(file.readline() for _ in range(4001)))
    (folder / "wage.csv").write_bytes((EXAMPLES / "wage_panel.csv").read_bytes())
    towns = ["Rome", "Oslo", "Bern"]
    lines = ["who,y,town"]
    for i in range(1, 241):
        lines.append(f"{f'p{i * 7 % 61}' if i % 19 else ''},{i * 13 % 11 if i % 17 else ''},{towns[i * i % 3]}{'' if i % 23 else ','}")
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    toy = []
    for i in range(300):
        cells = [f" {j}:{(i * 7 + j * 13) % 11 / 10}" for j in range(1, 11) if i * j % 3 == 0]
        toy.append(("+1" if i % 2 else "-1") + "".join(cells))
    (folder / "toy.svm").write_text("\n".join(toy) + "\n")
    (folder / "schema.json").write_bytes((RECORDED / "schema.json").read_bytes())
    for line in (RECORDED / "trainings.commands").read_text().splitlines():
        if line.startswith("surety convert"):
            subprocess.run([COMMAND, *shlex.split(line)[1:]], cwd=folder, capture_output=True, check=False)
    return folder


def recorded() -> list[list[str]]:
    """The words of each training that was recorded, but for where it is written."""
    seen: dict[tuple[str, ...], list[str]] = {}
    for line in (RECORDED / "trainings.commands").read_text().splitlines():
        words = shlex.split(line.split(" --print-plan")[0].split(" >/dev/null")[0])
        if words[:2] != ["surety", "train"] or "--plan" in words or "--replay-seed" not in words or words[2].startswith("-"):
            continue
        kept = [word for word in words[2:] if word not in ("--json", "--ledger-must-exist")]
        for name in ("--ledger", "--model"):
            del kept[kept.index(name) : kept.index(name) + 2]
        # Those that take seconds to calibrate differ from others in nothing that a binding sees.
        if not {"--every", "--timeout", "--answer-at", "truncated", "allocated", "svrg"} & set(kept):
            seen[tuple(sorted(kept))] = kept
    return list(seen.values())


def split_items(text: str) -> list[str]:
    return next(csv.reader([text]))


OF_FIELD: dict[str, Callable[[list[str]], Any]] = {
    "bounds": lambda all: {text.split("=")[0]: tuple(float(end) for end in text.split("=")[1].split(",")) for text in all},
    "categories": lambda all: {text.split("=")[0]: split_items(text.split("=")[1]) for text in all},
    "class_weight": lambda all: {text.split("=")[0]: float(text.split("=")[1]) for text in all},
    "missing": lambda all: dict(text.split("=") for text in all),
    "tune_over": lambda all: {text.split("=")[0]: split_items(text.split("=")[1]) for text in all},
    "classes": lambda all: split_items(all[0]),
    "columns": lambda all: split_items(all[0]),
}
OF_KIND: dict[str, Callable[[list[str]], Any]] = {
    "texts": lambda all: all,
    "text": lambda all: all[0],
    "number": lambda all: float(all[0]),
    "count": lambda all: int(all[0]),
    "flag": lambda all: True,
}


def call_of(words: list[str]) -> dict[str, Any]:
    """The words of the command as keywords."""
    said: dict[str, list[str]] = {}
    rest = words[1:]
    while rest:
        name = rest.pop(0).removeprefix("--").replace("-", "_")
        said.setdefault(name, []).append("" if KINDS.get(name) == "flag" else rest.pop(0))
    call: dict[str, Any] = {"unit": None, "adjacency": "replace-one"}
    for name, texts in said.items():
        if name in ("epsilon", "delta"):
            call[name] = float(texts[0])
        else:
            call[name] = OF_FIELD.get(name, OF_KIND[KINDS.get(name, "text")])(texts)
    return call


def trained(folder: Path, data: Any, **call: Any) -> surety.Model:
    before = Path.cwd()
    os.chdir(folder)
    try:
        return surety.train(data, ledger="run.db", **call)
    finally:
        os.chdir(before)


def by_command(folder: Path, *words: str) -> str:
    done = subprocess.run([COMMAND, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def table_of(path: Path) -> dict[str, list[str]]:
    """The cells of a CSV file as columns of texts, of rows that have as many as the header."""
    with open(path) as file:
        rows = list(csv.reader(file))
    assert all(len(row) == len(rows[0]) for row in rows)
    return {name: [row[place] for row in rows[1:]] for place, name in enumerate(rows[0])}


@pytest.mark.parametrize("words", recorded(), ids=" ".join)
def test_recorded_trainings_are_the_same_to_the_byte(words: list[str], tmp_path: Path, data: Path) -> None:
    of_command, of_python = tmp_path / "command", tmp_path / "python"
    for folder in (of_command, of_python):
        folder.mkdir()
        (folder / "schema.json").write_bytes((data / "schema.json").read_bytes())
    path = data / words[0]
    said = by_command(of_command, "train", str(path), *words[1:], "--ledger", "run.db", "--model", "m.json", "--json")
    call = call_of(words)
    model = trained(of_python, path, **call, model="m.json")
    assert model.json() + "\n" == said
    text = (of_command / "m.json").read_bytes()
    assert (of_python / "m.json").read_bytes() == text
    if call.get("format") or "people" in words[0] or call["unit"] or call.get("algorithm") == "svrg++":
        return
    if call.get("algorithm") == "gossip":
        with pytest.raises(ValueError, match="data is missing, must name a file: gossip reads its header first"):
            trained(of_python, table_of(path), **call)
        return
    # Columns of the same cells, and no file of the model.
    (of_python / "run.db").unlink()
    again = trained(of_python, table_of(path), **call)
    assert json.loads(again.json()) == {name: part for name, part in json.loads(said).items() if name != "model"}
    assert again.text().encode() + b"\n" == text
    again.save(of_python / "again.json")
    assert (of_python / "again.json").read_bytes() == text


def random_plan(choose: random.Random) -> dict[str, Any]:
    """A call that trains on the table of `random_table`."""
    call: dict[str, Any] = {
        "epsilon": choose.choice([0.3, 1, 4]),
        "delta": choose.choice([1e-6, 1e-3]),
        "adjacency": choose.choice(["replace-one", "zero-out"]),
        "replay_seed": choose.randint(0, 2**64 - 1),
        "unit": None,
        "algorithm": choose.choice(["auto", "shaped-descent", "gradient-descent", "accelerated-gradient-descent", "mirror-descent", "sufficient-statistics", "dp-sgd", "private-ftrl"]),
        "bounds": choose.choice([{"age": (18, 90.5)}, {"age": (18, 90.5), "pay": (-1, 1)}, {}]),
        "categories": {"town": choose.sample(["Rome", "Oslo", "New York, NY"], 2)},
        "drop": choose.choice([["who"], ["who", "pay"]]),
        "missing": choose.choice([{}, {"age": 40, "town": "Rome"}]),
    }
    call["bounds"] = {name: ends for name, ends in call["bounds"].items() if name not in call["drop"]}
    algorithm = call["algorithm"]
    if algorithm == "sufficient-statistics" or choose.random() < 0.4:
        ranges: list[dict[str, Any]] = [{"label_bound": 5}, {"label_bounds": (0, 9.5)}]
        call |= {"loss": "squared", "label": "y", **choose.choice(ranges)}
        if algorithm != "sufficient-statistics":
            call["clip"] = choose.choice([0.5, 2])
    else:
        call |= choose.choice([{"label": "y", "above": 3}, {"label": "town", "equals": "New York, NY", "categories": {}, "missing": {"age": 40}}])
        if algorithm == "shaped-descent" and choose.random() < 0.5:
            call |= {"label": "y", "classes": [0, 1, 2], "categories": call["categories"]}
            call.pop("above", call.pop("equals", None))
    if algorithm == "mirror-descent":
        call["radius"] = choose.choice([1, 2.5])
    if algorithm == "dp-sgd":
        call |= {"records": RANDOM_ROWS, "batch_size": 30, "epochs": choose.choice([1, 2])}
    if algorithm == "private-ftrl":
        call |= {"steps": RANDOM_ROWS, "radius": 2, "step_size": choose.choice([0.05, 0.2])}
    if algorithm in ("gradient-descent", "accelerated-gradient-descent", "mirror-descent"):
        of_owners: dict[str, Any] = {"unit": "who", "most": 60, "empty_unit": choose.choice(["one", "each"])}
        call |= {"steps": choose.choice([1, 5]), **choose.choice([of_owners, {"regularization": 0.01}, {}])}
    if algorithm != "private-ftrl":
        call |= choose.choice([{}, {"held_out": 0}, {"split_seed": 7}])
    return {name: value for name, value in call.items() if name == "unit" or value not in ({}, [])}


RANDOM_ROWS = 300


def random_table(seed: int) -> dict[str, list[Any]]:
    choose = random.Random(seed)
    return {
        "who": [f"p{choose.randint(0, 60)}" for _ in range(RANDOM_ROWS)],
        "age": [choose.choice([None, choose.randint(10, 99)]) for _ in range(RANDOM_ROWS)],
        "pay": [choose.uniform(-2, 2) for _ in range(RANDOM_ROWS)],
        "town": [choose.choice(["Rome", "Oslo", "New York, NY", ""]) for _ in range(RANDOM_ROWS)],
        "y": [choose.randint(0, 9) for _ in range(RANDOM_ROWS)],
    }


def words_of(call: dict[str, Any]) -> list[str]:
    """The call as words of the command."""
    words: list[str] = []
    label, above, equals = call["label"], call.get("above"), call.get("equals")
    for name, value in call.items():
        shown = f"--{name.replace('_', '-')}"
        if name == "label":
            words += [shown, f"{label}>{above}" if above is not None else label if equals is None else f'{label}=="{equals}"']
        elif name in ("bounds", "missing"):
            for column, its in value.items():
                words += [shown, f"{column}={its[0]},{its[1]}" if name == "bounds" else f"{column}={its}"]
        elif name == "categories":
            for column, texts in value.items():
                words += [shown, column + "=" + ",".join(f'"{text}"' for text in texts)]
        elif name == "drop":
            for column in value:
                words += [shown, column]
        elif name in ("classes", "label_bounds"):
            words += [shown, ",".join(map(str, value))]
        elif name not in ("above", "equals") and value is not None and (name, value) != ("algorithm", "auto"):
            words += [shown, str(value)]
    return words


@pytest.mark.parametrize("seed", range(RANDOM_PLANS))
def test_random_plans_are_the_same_to_the_byte(seed: int, tmp_path: Path) -> None:
    call = random_plan(random.Random(seed))
    table = random_table(seed)
    path = tmp_path / "table.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([list(table), *zip(*table.values(), strict=True)])
    of_command, of_python = tmp_path / "command", tmp_path / "python"
    of_command.mkdir()
    of_python.mkdir()
    said = by_command(of_command, "train", str(path), *words_of(call), "--ledger", "run.db", "--model", "m.json", "--json")
    assert trained(of_python, path, **call, model="m.json").json() + "\n" == said
    assert (of_python / "m.json").read_bytes() == (of_command / "m.json").read_bytes()
    (of_python / "run.db").unlink()
    of_columns = trained(of_python, {name: np.array(column, object) for name, column in table.items()}, **call)
    report = {name: part for name, part in json.loads(said).items() if name != "model"}
    assert json.loads(of_columns.json()) == report
    assert of_columns.text() + "\n" == (of_command / "m.json").read_text()


PROMISE: dict[str, Any] = {"unit": None, "epsilon": 1, "delta": 1e-5, "adjacency": "replace-one"}
VISITS: dict[str, Any] = {"label": "mdvis", "above": 0, "algorithm": "gradient-descent", "steps": 5}


def test_predictions_are_those_of_the_command(tmp_path: Path, data: Path) -> None:
    path = data / "small.csv"
    ledger = surety.Ledger.in_memory()
    common: dict[str, Any] = {**PROMISE, "ledger": ledger, "steps": 5}
    models = {
        "logistic": surety.train(path, label="mdvis", above=0, algorithm="gradient-descent", **common),
        "hinge": surety.train(path, label="mdvis", above=0, algorithm="gradient-descent", loss="smoothed-hinge", **common),
        "squared": surety.train(path, label="mdvis", algorithm="gradient-descent", loss="squared", label_bound=10, clip=1, **common),
        "classes": surety.train(path, label="mdvis", algorithm="shaped-descent", classes=[0, 1, 2], **common),
    }
    for name, model in models.items():
        file = tmp_path / f"{name}.json"
        model.save(file)
        said = json.loads(by_command(tmp_path, "predict", str(file), str(path), "--json"))["predictions"]
        of_columns = table_of(path)
        del of_columns["mdvis"]
        for data_of in (path, of_columns):
            if name == "squared":
                assert model.predict(data_of).tolist() == said
                continue
            if name == "hinge":
                assert model.decision_function(data_of).tolist() == said
                with pytest.raises(surety.SuretyError, match="probabilities are of models of the logistic loss"):
                    model.predict_proba(data_of)
            else:
                found = model.predict_proba(data_of)
                assert (found[:, 1] if name == "logistic" else found).tolist() == said
                assert np.allclose(found.sum(axis=1), 1) and found.shape[1] == len(model.classes_)
            classes = json.loads(by_command(tmp_path, "predict", str(file), str(path), "--class", "--json"))["predictions"]
            assert model.predict(data_of).tolist() == classes and set(classes) <= set(model.classes_)
    assert models["logistic"].classes_ == ("mdvis<=0", "mdvis>0") and models["classes"].classes_ == ("0", "1", "2")
    assert models["squared"].classes_ == ()
    with pytest.raises(surety.SuretyError, match="has no records"):
        models["logistic"].predict({name: [] for name in of_columns})
    with pytest.raises(surety.SuretyError, match="column 'lncoins' is missing"):
        models["logistic"].predict({"x": [1.0]})
    with pytest.raises(surety.SuretyError, match="1 of 2 records is damaged, nothing is said of any"):
        models["logistic"].predict({name: [1.0, float("nan")] for name in of_columns})


def test_coefficients_are_in_units_of_the_columns() -> None:
    """The score is the linear function that they say, to within rounding."""
    rows = 3000
    table = {"x": np.arange(rows) % 70 - 20.0, "town": np.array(["Rome", "Oslo", "Bern"])[np.arange(rows) % 3], "y": np.arange(rows) % 9}
    call: dict[str, Any] = {**PROMISE, "ledger": surety.Ledger.in_memory(), "bounds": {"x": (-20, 50)}, "categories": {"town": ["Rome", "Oslo"]}}
    fit: dict[str, Any] = {**call, "label": "y", "loss": "squared", "label_bounds": (0, 9), "algorithm": "sufficient-statistics"}
    model = surety.train(table, **fit, rows="scaled")
    assert model.feature_names_ == ("x", "town=Oslo against Rome") and model.coef_.shape == (2,)
    town = table["town"]
    score = model.intercept_ + model.coef_ @ np.array([table["x"], (town == "Oslo") * 1.0 - (town == "Rome")])
    assert np.allclose(score, model.predict(table), rtol=0, atol=1e-12)
    assert model.decision_function(table).tolist() == model.predict(table).tolist()  # with the middle of the labels
    slope = np.diff(model.predict({"x": [3.0, 4.0], "town": ["Bern", "Bern"]}))[0]
    assert abs(slope - model.coef_[0]) < 1e-12 and abs(model.weights[0]) > 10 * abs(slope)
    several = surety.train(table, **call, label="y", classes=[0, 1, 2], algorithm="shaped-descent", rows="scaled", no_count_records=True)
    assert several.coef_.shape == (3, 2) and np.shape(several.intercept_) == (3,)
    one = several.decision_function({"x": [7.0], "town": ["Oslo"]})[0]
    assert np.allclose(one, several.intercept_ + several.coef_ @ np.array([7.0, 1]), rtol=0, atol=1e-12)
    with pytest.raises(surety.SuretyError, match="each row is divided by its norm"):
        _ = surety.train(table, **fit).coef_
    # Intervals are of the weights, and hold at once.
    narrow = surety.train(table, **{**fit, "epsilon": 1e6}, rows="scaled")
    assert narrow.intervals is not None and narrow.intervals.shape == (3, 2)
    assert (narrow.intervals[:, 0] < narrow.intervals[:, 1]).all() and several.intervals is None and several.population_intervals is None
    assert narrow.population_intervals is None or narrow.population_intervals.shape == (3, 2)
    assert ((narrow.intervals[:, 0] <= narrow.weights) & (narrow.weights <= narrow.intervals[:, 1])).all()


def test_a_model_is_what_may_be_published(tmp_path: Path, data: Path) -> None:
    ledger = surety.Ledger.in_memory()
    model = surety.train(data / "small.csv", **VISITS, **PROMISE, ledger=ledger, note="a <b>")
    assert model.run == 1 and model.cost is not None and model.cost.upper <= 1 and model.promise == (1, 1e-5)
    assert str(model.event) == ledger.audit(1e-5)["runs"][0]["charged"] and model.unit == "one row"
    assert model.report is not None and model.report["run"] == 1 and "held_out_scores_not_private" in model.report
    score = model.held_out_score
    assert score is not None and score["name"] == "brier" and score["over_noise"]["from"] < score["over_noise"]["to"]
    pickled = pickle.dumps(model)
    again = pickle.loads(pickled)
    assert again.text() == model.text() and (again.cost, again.run, again.report, again.intervals) == (None, None, None, None)
    # Neither the scores on private rows nor the number of damaged ones travel with it.
    assert b"not_private" not in pickled and b"accuracy" not in pickled and len(pickled) < len(model.text()) + 200
    with pytest.raises(surety.SuretyError, match="this model was loaded"):
        again.json()
    with pytest.raises(surety.SuretyError, match="this model was loaded"):
        again.lines()
    assert "memory, run 1" in model.lines() and "epsilon = 1 at delta = 1e-05" in model.lines() and "do not publish them" in model.lines()
    model.save(tmp_path / "m.json")
    assert surety.Model.load(tmp_path / "m.json").text() == model.text() == surety.Model.parse(model.text()).text()
    # A value of another type is bad data, wherever it stands.
    said = json.loads(model.text())
    said["guarantee"]["unit"] = {"name": "who", "most": 2, "names": "bytes", "empty": "one", "delimiter": ",", "place": None, "record_bytes": None, "quoted_lines": 0}
    of_other_types: list[Any] = [None, True, 5, -1, 1.5, "", [], {}]
    for field in said["guarantee"]["unit"]:
        for value in of_other_types:
            said["guarantee"]["unit"][field], before = value, said["guarantee"]["unit"][field]
            try:
                surety.Model.parse(json.dumps(said))
            except surety.SuretyError as refused:
                assert "\n" not in str(refused) and "json.exception" not in str(refused)
            said["guarantee"]["unit"][field] = before
    (tmp_path / "other").write_text("my letter")
    with pytest.raises(ValueError, match="other"):
        model.save(tmp_path / "other")
    assert (tmp_path / "other").read_text() == "my letter"
    with pytest.raises(surety.SuretyError, match="the text of the model"):
        surety.Model.parse('{"surety_model": 1}')
    with pytest.raises(TypeError, match="made by surety.train"):
        surety.Model()


def test_what_is_shown_is_escaped() -> None:
    rows = np.arange(400)
    table = {"<b>x": rows % 7 * 1.0, "y\n": np.array(["<i>", "no"])[rows % 2]}
    model = surety.train(table, label="y\n", equals="<i>", algorithm="gradient-descent", steps=2, **PROMISE, ledger=surety.Ledger.in_memory(), replay_seed=1)
    page = model._repr_html_()
    assert "&lt;b&gt;x" in page and "<b>" not in page and "<i>" not in page and page.count("<tr>") == 3 and "NOT PRIVATE" in page
    assert "\n" not in repr(model) and "NOT PRIVATE" in repr(model)
    assert model.classes_[1] == '"y\n"==<i>' or "<i>" in model.classes_[1]


def usable_table(is_usable: Any) -> dict[str, list[Any]]:
    """20,000 records, of which those are usable for which ``is_usable`` says so."""
    return {"x": [1.0 if is_usable(place) else None for place in range(20_000)], "label": [place % 2 for place in range(20_000)]}


USABLE: dict[str, Any] = {"label": "label", "above": 0, "unit": None, "epsilon": 1, "delta": 1e-5, "adjacency": "replace-one", "algorithm": "gradient-descent", "steps": 100}


def test_usable_records_are_counted_by_default_and_warned_of(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = surety.train(usable_table(lambda place: True), **USABLE, ledger=surety.Ledger.in_memory())
        nearly = surety.train(usable_table(lambda place: place % 20), **USABLE, ledger=surety.Ledger.in_memory())
        assert surety.train(usable_table(lambda place: place % 5), **USABLE, no_count_records=True, ledger=surety.Ledger.in_memory()).usable_records is None
    usable = whole.usable_records
    assert usable is not None and usable["of"] == 16_000 and abs(usable["value"] - 16_000) < 400 and usable["from"] < usable["value"] < usable["to"] and usable["confidence"] == 0.998
    assert nearly.usable_records is not None and "warning" not in nearly.usable_records
    with pytest.warns(surety.FewUsableRecordsWarning, match="of 16000 records trained on are usable: check the label") as warned:
        some = surety.train(usable_table(lambda place: place % 5), **USABLE, ledger=surety.Ledger.in_memory(), replay_seed=5)
    assert warned[0].filename == __file__ and "is charged" in str(warned[0].message)
    with pytest.warns(surety.FewUsableRecordsWarning) as warned:
        again = surety.plan_training(**USABLE, replay_seed=5).train(usable_table(lambda place: place % 5), ledger=surety.Ledger.in_memory())
    assert warned[0].filename == __file__ and again.usable_records == some.usable_records
    assert surety.Model.parse(some.text()).usable_records is None
    # False leaves the count out, as no_count_records=True does.
    plain = surety.plan_training(**USABLE, no_count_records=True)
    assert surety.plan_training(**USABLE, count_records=False).event == plain.event != surety.plan_training(**USABLE).event
    assert surety.plan_training(**USABLE, count_records=True).event == surety.plan_training(**USABLE).event


def test_few_usable_records_stop_a_training_that_stays_charged() -> None:
    ledger = surety.Ledger.in_memory()
    with pytest.raises(surety.SuretyError, match="of the 16000 records trained on are usable.* must be at least half") as stopped:
        surety.train(usable_table(lambda place: place % 12 == 0), **USABLE, ledger=ledger)
    assert stopped.value.code == surety.ErrorCode.BAD_DATA and "\n" not in str(stopped.value)
    audit = ledger.audit(1e-5)
    assert audit["runs"][0]["charged"] == str(surety.plan_training(**USABLE).event) and audit["epsilon"]["lower"] > 0.999


def test_every_word_of_a_plan_reaches_the_library() -> None:
    elsewhere = {"data", "label", "unit", "most", "ledger", "ledger_must_exist"}
    # Weights on the way are for standard output, and ranks for mpirun.
    no_words = {"every", "timeout"}
    assert set(TrainingFields.__annotations__) == set(KINDS) - elsewhere - no_words
    for function in (surety.train, surety.plan_training):
        for name in TrainingFields.__annotations__:
            assert f"\n{name} : optional\n" in (function.__doc__ or "")
    plan = surety.plan_training(
        label="mdvis",
        algorithm="shaped-descent",
        **PROMISE,
        classes=[0, 1, 'New York, "NY"'],
        class_weight={"0": 0.5, 'New York, "NY"': 2},
        bounds={"age": (0, 0.1), "a,b": (-1, 1)},
        categories={"town": ["Rome", "New York, NY"]},
        drop=["x", "y,z"],
        missing={"age": 40, "town": "Rome"},
        split_seed=7,
        no_limits=True,
    )
    options = json.loads(plan.json())["options"]
    assert options["bounds"] == ['"age"=0.0,0.1', '"a,b"=-1.0,1.0'] and options["drop"] == ["x", "y,z"]
    assert options["classes"] == '"0","1","New York, ""NY"""' and options["class-weight"] == ['"0"=0.5', '"New York, ""NY"""=2.0']
    assert options["missing"] == ['"age"="40"', '"town"="Rome"'] and options["categories"] == ['"town"="Rome","New York, NY"']
    assert options["no-limits"] is True and options["split-seed"] == 7
    search = surety.plan_training(label="y>0", algorithm="shaped-descent", **PROMISE, tune=3, tune_over={"steps": [10, 30], "clip_share": [0.3]}, tune_by="split")
    options = json.loads(search.json())["options"]
    assert options["tune-over"] == ["steps=10,30", "clip-share=0.3"] and options["tune"] == 3


def test_a_plan_is_the_one_of_the_command(tmp_path: Path, data: Path) -> None:
    path = str(data / "small.csv")
    words = ["--algorithm", "dp-sgd", "--records", "4000", "--batch-size", "100", "--epochs", "2"]
    promise = ["--label", "mdvis>0", "--epsilon", "1", "--delta", "1e-5", "--replay-seed", "5"]
    printed = json.loads(by_command(tmp_path, "train", path, *words, *promise, "--ledger", "run.db", "--model", "m.json", "--print-plan"))
    chosen = surety.plan_training(label="mdvis", above=0, algorithm="auto", **PROMISE, data=path)
    assert chosen.algorithm == "shaped-descent" and chosen.chosen.startswith("shaped-descent steps 21 shrink stein start share ranges private: ") and "3200 records" in chosen.chosen
    with pytest.raises(ValueError, match="data is missing: algorithm auto reads the header of the records first"):
        surety.plan_training(label="mdvis", above=0, algorithm="auto", **PROMISE)
    plan = surety.plan_training(label="mdvis>0", algorithm="dp-sgd", records=4000, batch_size=100, epochs=2, **PROMISE, replay_seed=5, data=path)
    said = json.loads(plan.json())
    assert all(said[name] == printed[name] for name in ("event", "noise", "unit", "target", "adjacency")) and plan.noise == printed["noise"]
    assert plan.chosen == "dp-sgd regularization 0: 3200 records, 10 features, mu = 0.268" and str(plan.event) in repr(plan) and plan.algorithm == "dp-sgd" and plan.cost.upper <= 1
    file = tmp_path / "plan.json"
    file.write_text(plan.json())
    by_command(tmp_path, "train", "--plan", str(file), "--ledger", "run.db", "--model", "m.json")
    ledger = surety.Ledger.in_memory()
    models = [plan.train(None, ledger=ledger), plan.train(path, ledger=ledger), plan.train(table_of(Path(path)), ledger=ledger)]
    assert {model.text() + "\n" for model in models} == {(tmp_path / "m.json").read_text()} and len(ledger.audit(1e-5)["runs"]) == 3
    with pytest.raises(TypeError, match="does not pickle"):
        pickle.dumps(plan)


TABLE: dict[str, Any] = {"x": np.arange(500) % 7 * 1.0, "y": np.arange(500) % 2, "secret": ["a secret"] * 500}
FIT: dict[str, Any] = {"label": "y>0", "drop": ["secret"], "algorithm": "gradient-descent", "steps": 2, **PROMISE}
REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"ledger": None}, TypeError, "ledger is None, must be a path or a surety.Ledger"),
    ({"data": None}, TypeError, "data is None, must be a table or the path of one"),
    ({"data": np.zeros((3, 2))}, TypeError, "data is an array without names of columns"),
    ({"data": {"x": [1, 2], "y": [1]}}, ValueError, "have different numbers of rows"),
    ({"label": None, "above": 0}, ValueError, "label is None, must name a column"),
    ({"label": None}, ValueError, "label is missing"),
    ({"above": 0, "equals": "a"}, ValueError, "above and equals are both given"),
    ({"label": "z>0"}, surety.SuretyError, "column 'z'"),
    ({"drop": []}, surety.SuretyError, ""),
    ({"algorithm": "sgd"}, ValueError, "algorithm is 'sgd', must be auto, shaped-descent"),
    ({"inner_steps": 7}, ValueError, "inner_steps is for svrg, svrg++, not for gradient-descent"),
    ({"steps": 0}, ValueError, "steps is '0', must be a whole number from 1"),
    ({"steps": -1}, ValueError, "steps is -1, must be a whole number"),
    ({"steps": 2.5}, TypeError, "steps is 2.5, must be a whole number"),
    ({"clip": "much"}, TypeError, "clip is 'much', must be a number"),
    ({"clip": -1}, ValueError, "clipping norm is -1"),
    ({"clip": float("nan")}, ValueError, "clip is nan, must be finite"),
    ({"bounds": {"x": (1, 0)}}, ValueError, "bounds of column 'x' are 1 and 0, must be finite and ascend"),
    ({"bounds": [1]}, TypeError, "bounds is of type list, must be a mapping"),
    ({"loss": "absolute"}, ValueError, "loss is 'absolute'"),
    ({"every": 7}, TypeError, "train() got an unexpected keyword argument 'every'"),
    ({"epsilon": 0}, ValueError, "epsilon of the target is 0"),
    ({"delta": 0}, surety.SuretyError, "delta"),
    ({"adjacency": "neighbours"}, ValueError, "adjacency is 'neighbours'"),
    ({"unit": "x"}, ValueError, "most is missing"),
    ({"model": "/nowhere/m.json"}, surety.SuretyError, "/nowhere"),
    ({"model": "/dev/null"}, ValueError, "/dev/null"),
    ({"algorithm": "auto", "adjacency": "add-or-remove-one", "steps": None}, ValueError, "records is missing: algorithm auto needs the public number of records"),
]


@pytest.mark.parametrize(("change", "kind", "message"), REFUSED, ids=[message or "a text" for _, _, message in REFUSED])
def test_what_is_refused_is_said_in_one_line_and_costs_nothing(change: dict[str, Any], kind: type[Exception], message: str, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    call: dict[str, Any] = {"data": TABLE, "ledger": path, **FIT, **change}
    if message == "":
        # A text where a number must be is damaged, and shows nothing.
        assert surety.train(call.pop("data"), **call, no_count_records=True).run == 1
        return
    with pytest.raises(kind, match=re.escape(message)) as refused:
        surety.train(call.pop("data"), **call)
    assert "\n" not in str(refused.value) and "a secret" not in str(refused.value) and "--" not in str(refused.value) and not path.exists()


def test_nothing_that_is_a_promise_has_a_default() -> None:
    for name in ("unit", "epsilon", "adjacency", "ledger"):
        call = {**FIT, "ledger": surety.Ledger.in_memory()}
        del call[name]
        with pytest.raises(TypeError, match=f"missing 1 required keyword-only argument: '{name}'"):
            surety.train(TABLE, **call)


def test_the_budget_is_asked_first_and_charged_before_anything_is_drawn(tmp_path: Path) -> None:
    ledger = surety.Ledger.in_memory(adjacency="replace-one", epsilon=1.2, delta=1e-4)
    assert surety.train(TABLE, **FIT, ledger=ledger).run == 1
    with pytest.raises(surety.SuretyError, match="the budget") as refused:
        surety.train(tmp_path / "is not looked for", **FIT, ledger=ledger)
    assert refused.value.code == surety.ErrorCode.BUDGET_EXCEEDED and len(ledger.audit(1e-5)["runs"]) == 1
    with pytest.raises(surety.SuretyError, match="ledger"):
        surety.train(TABLE, **FIT, ledger=tmp_path / "run.db", ledger_must_exist=True)
    assert not (tmp_path / "run.db").exists()
    # A search takes another order where the budget's rule does not know the law of a random number of runs, as the command's does.
    search = {**FIT, "tune": 4, "tune_over": {"clip": [0.1, 0.2, 0.4, 0.8]}, "steps": 5}
    roomy = surety.Ledger.in_memory(adjacency="replace-one", epsilon=3, delta=1e-4, filter="gaussian")
    model = surety.train(TABLE, **search, ledger=roomy)
    assert model.report is not None and "runs" not in str(model.event)


def test_threads_train_at_once() -> None:
    plan = surety.plan_training(**{**FIT, "replay_seed": 3})
    ledger = surety.Ledger.in_memory()
    texts: set[str] = set()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                texts.add(plan.train(TABLE, ledger=ledger).text())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len(ledger.audit(1e-5)["runs"]) == 30 and len(texts) == 1


def test_weights_multiply_what_records_add() -> None:
    rows = 4000
    label = np.arange(rows) % 5 == 0
    table = {"a": np.arange(rows) % 7 * 1.0, "y": label * 1.0, "w": np.where(label, 4.0, 1.0)}
    how: dict[str, Any] = {"label": "y", "above": 0, "algorithm": "constant", **PROMISE}
    trained = surety.train(table, **how, weight="w", weight_bound=4, ledger=surety.Ledger.in_memory(), replay_seed=3)
    # One in five with four times the weight: half of all.
    assert abs(trained.predict_proba({"a": [1.0]})[0, 1] - 0.5) < 0.05 and trained.columns == ("a",)
    assert json.loads(trained.text())["record_weights"] == {"column": "w", "bound": 4.0}
    plain = surety.train(table, **how, drop=["w"], ledger=surety.Ledger.in_memory(), replay_seed=3)
    assert abs(plain.predict_proba({"a": [1.0]})[0, 1] - 0.2) < 0.05 and plain.event == trained.event
    for said, message in (
        ({"weight": "w"}, "weight_bound is missing"),
        ({"weight_bound": 4}, "weight is missing"),
        ({"weight": "w", "weight_bound": 0}, "weight_bound is 0"),
        ({"weight": "y", "weight_bound": 4}, "weight is 'y', must be another column than the label's"),
        ({"weight": "w", "weight_bound": 4, "tune": 2, "algorithm": "shaped-descent"}, "cannot combine weight with tune"),
        ({"weight": "w", "weight_bound": 4, "algorithm": "output-perturbation"}, "weight is for .*not for output-perturbation"),
    ):
        ledger = surety.Ledger.in_memory()
        with pytest.raises(surety.SuretyError, match=message):
            surety.train(table, **{**how, **said}, ledger=ledger)
        with pytest.raises(surety.InvalidArgument, match="has had no run yet"):
            ledger.audit(1e-6)
