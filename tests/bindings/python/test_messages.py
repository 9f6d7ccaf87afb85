"""What people read when a call is wrong: every public function and method with wrong arguments, one at a time. No message is that of the binding, none names a
type of C++, a wrong type names its argument, and no call crashes or hangs. A misspelt keyword names the one that is meant."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import inspect
import math
import os
import random
import re
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import surety_dp as surety

#: SURETY_HOSTILE_CALLS, as of test_hostile.py.
CALLS = int(os.environ.get("SURETY_HOSTILE_CALLS", "2000"))
SEED = 20261130
#: Words of nanobind, of C++ and of what is no public name.
RAW = re.compile(r"incompatible function arguments|nanobind|Invoked with|std::|surety::|basic_string|bad_cast|_library|_handle|NoneType.*attribute|__\w+__|0x[0-9a-f]{6}")
REFUSALS = (TypeError, ValueError, BufferError, ImportError, surety.SuretyError)

ROWS: dict[str, Any] = {"x": [1.0, 2.0, 3.0, 4.0], "g": ["a", "b", "a", "b"], "y": [0, 1, 2, 3]}
PROMISE: dict[str, Any] = {"unit": None, "epsilon": 1.0, "delta": 1e-6, "adjacency": "replace-one"}
TEXT = {"event": "gaussian(2)", "adjacency": "replace-one"}
NOISE = {"sensitivity": 1, "adjacency": "replace-one"}
TRAINING: dict[str, Any] = {"label": "y", "above": 1, "algorithm": "gradient-descent", "steps": 1, "drop": ["g"], "bounds": None, **PROMISE}
GROUPS = {"where": "x > 1", "types": {"x": "number"}, "weight": 2, "by": "g", "keys": ["a"], "key_bounds": None, "key_bins": None, "key_edges": None, "most_per_group": None}
SOME = {name: GROUPS[name] for name in ("where", "types", "weight")}
BOUNDED = {"column": "x", "bounds": (0, 5), **GROUPS}
LOG = {"log": {"noise_multiplier": 1, "batch_size": 600, "records": 6000, "epochs": 1, "sampler": "poisson"}, "adjacency": "zero-out", "delta": 1e-5}


def memory(**more: Any) -> surety.Ledger:
    return surety.Ledger.in_memory(adjacency="replace-one", **more)


class Axes:
    """What of Matplotlib's axes a plot asks."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **options: [self]


released = surety.release(ROWS, [surety.count()], ledger=surety.Ledger.in_memory(), **{**PROMISE, "adjacency": "add-or-remove-one"})
model = surety.train(ROWS, ledger=surety.Ledger.in_memory(), **TRAINING)
noise = surety.GaussianNoise(40, sensitivity=1, dimension=3, adjacency="replace-one")
answer = surety.epsilon("gaussian(2)", delta=1e-5, adjacency="replace-one")


def calls(folder: Path) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Each public function, class and method by its name, with arguments that it takes. A function of the table makes what it is called on anew."""
    number = iter(range(10**9))

    def fresh() -> Path:
        return folder / f"{next(number)}.db"

    def reserved() -> surety.Reservation:
        return memory().reserve("repeat(10, gaussian(40))")

    open_ledger = memory(epsilon=1, delta=1e-5)
    open_ledger.reserve("gaussian(40)").settle()
    existing = fresh()
    memory_of_file = surety.Ledger.create(existing, adjacency="replace-one")
    memory_of_file.close()
    event = surety.Event("gaussian(2)", "replace-one")
    saved = folder / "model.json"
    model.save(saved)
    of_data = {"data": ROWS, "ledger": None}
    return {
        "epsilon": (surety.epsilon, {**TEXT, "delta": 1e-5, "width": 0.01, "limit_seconds": 5}),
        "delta": (surety.delta, {**TEXT, "epsilon": 1, "width": 0.01, "limit_seconds": 5}),
        "explain": (surety.explain, {**TEXT, "delta": 1e-5, "epsilon": None, "width": 0.01, "limit_seconds": 5}),
        "curve": (surety.curve, {**TEXT, "epsilons": [0, 1], "width": 0.01, "limit_seconds": 5}),
        "tradeoff": (surety.tradeoff, {**TEXT, "false_positive_rates": [0.1], "width": 0.01, "limit_seconds": 5}),
        "risk": (surety.risk, {**TEXT, "false_positive_rates": [0.1], "prior": 0.5, "floor": 1e-6, "width": 0.01, "limit_seconds": 5}),
        "calibrate": (surety.calibrate, {"event": "gaussian(z)", "adjacency": "replace-one", "solve": "z", "epsilon": 1, "delta": 1e-5, "width": 0.01, "limit_seconds": 5}),
        "audit_log": (surety.audit_log, {**LOG, "epsilon": 1, "readings": ["poisson"], "width": 0.01, "limit_seconds": 5}),
        "calibrate_log": (surety.calibrate_log, {**LOG, "epsilon": 1, "readings": ["poisson"], "width": 0.01, "limit_seconds": 5}),
        "check": (surety.check, {"pipeline": None}),
        "count": (surety.count, GROUPS),
        "count_units": (surety.count_units, GROUPS),
        "count_distinct": (surety.count_distinct, {"column": "x", "most_keys": 1, **SOME}),
        "sum": (surety.sum, {**BOUNDED, "clip_unit_sum": None}),
        "mean": (surety.mean, {**BOUNDED, "most_keys": None}),
        "variance": (surety.variance, BOUNDED),
        "median": (surety.median, {**BOUNDED, "candidates": 11, "interval": False}),
        "quantile": (surety.quantile, {**BOUNDED, "fraction": 0.5, "candidates": 11, "interval": False}),
        "histogram": (surety.histogram, {**BOUNDED, "bins": 3, "edges": None, "categories": None}),
        "Expression": (surety.Expression, {"text": "a * b"}),
        "mode": (surety.mode, {"column": "x", "categories": ["a", "b"], "top": 1, **GROUPS}),
        "keys": (surety.keys, {"column": "x", "most_keys": 1, **SOME}),
        "distinct": (surety.distinct, {"most_keys": 1, **SOME}),
        "plan": (surety.plan, {"statistics": [surety.count()], "most": None, **PROMISE, "confidence": 0.9, "columns": None, "note": "why", "noise": "best"}),
        "epsilon_for": (surety.epsilon_for, {"statistics": [surety.sum("x", bounds=(0, 5))], "error": 50, "most": None, **{name: value for name, value in PROMISE.items() if name != "epsilon"}}),
        "release": (
            lambda **said: surety.release(**{**said, "ledger": surety.Ledger.in_memory() if said["ledger"] is None else said["ledger"]}),
            {**of_data, "statistics": [surety.mean("x", bounds=(0, 5))], "most": None, "ledger_must_exist": False, **PROMISE, "missing": None, "complete": None},
        ),
        "plan_training": (surety.plan_training, {**TRAINING, "equals": None, "data": None, "most": None, "clip": 1, "batch_size": None}),
        "train": (
            lambda **said: surety.train(**{**said, "ledger": surety.Ledger.in_memory() if said["ledger"] is None else said["ledger"]}),
            {**of_data, **TRAINING, "equals": None, "ledger_must_exist": False, "categories": None, "tune_over": None, "class_weight": None, "pairs": None, "format": None},
        ),
        "Event": (surety.Event, {"text": "gaussian(z)", "adjacency": "replace-one", "values": {"z": 1}}),
        "Event.from_json": (surety.Event.from_json, {"text": event.json()}),
        "Event.json": (event.json, {}),
        "Curve.plot": (surety.curve("gaussian(1)", [1], adjacency="replace-one").plot, {"axes": Axes()}),
        "GaussianNoise": (surety.GaussianNoise, {**NOISE, "multiplier": 2, "dimension": 3, "step": 0.25}),
        "LaplaceNoise": (surety.LaplaceNoise, {**NOISE, "scale": 2, "dimension": 3, "step": 0.25}),
        "KNormNoise": (surety.KNormNoise, {**NOISE, "scale": 2, "norm": "l2", "dimension": 3, "step": 0.25}),
        "GeneralizedGaussianNoise": (surety.GeneralizedGaussianNoise, {**NOISE, "multiplier": 2, "r": 3, "dimension": 3, "step": 0.25}),
        "DiscreteGaussianNoise": (surety.DiscreteGaussianNoise, {**NOISE, "sigma": 2, "l2_sensitivity": None}),
        "DiscreteLaplaceNoise": (surety.DiscreteLaplaceNoise, {**NOISE, "scale": 2}),
        "BinomialNoise": (surety.BinomialNoise, {**NOISE, "flips": 100}),
        "SkellamNoise": (surety.SkellamNoise, {**NOISE, "mean": 20}),
        "TruncatedGeometricNoise": (surety.TruncatedGeometricNoise, {**NOISE, "scale": 2, "lowest": 0, "highest": 9}),
        "Noise.add_to": (noise.add_to, {"values": np.zeros(3)}),
        "Noise.fill": (noise.fill, {"values": np.zeros(3)}),
        "Noise.release": (noise.release, {"values": np.zeros(3)}),
        "Noise.release_sum": (noise.release_sum, {"rows": np.zeros((2, 3)), "clip": 0.5}),
        "SecureBits.spawn": (surety.SecureBits().spawn, {"n_children": 2}),
        "Ledger": (surety.Ledger, {"path": existing}),
        "Ledger.create": (
            lambda **said: surety.Ledger.create(**{**said, "path": fresh() if said["path"] is None else said["path"]}),
            {"path": None, "adjacency": "replace-one", "epsilon": 1, "delta": 1e-5, "filter": "renyi", "owner": "person", "most_rows": 3, "without_name": "one"},
        ),
        "Ledger.in_memory": (
            surety.Ledger.in_memory,
            {"adjacency": "replace-one", "epsilon": 1, "delta": 1e-5, "filter": "renyi", "owner": "person", "most_rows": 3, "without_name": "one"},
        ),
        "Ledger.reserve": (lambda **said: memory().reserve(**said), {**TEXT, "note": "why", "promise": (1, 1e-5)}),
        "Ledger.settle": (lambda **said: open_ledger.settle(**said), {"run": 1, "released": None, "adaptive": False}),
        "Ledger.audit": (open_ledger.audit, {"delta": 1e-5, "limit_seconds": 5}),
        "Ledger.spent": (open_ledger.spent, {"delta": 1e-5, "limit_seconds": 5}),
        "Ledger.remaining": (open_ledger.remaining, {"delta": 1e-5}),
        "Ledger.room_for": (open_ledger.room_for, {"event": "pure(0.25)", "most": 3}),
        "Ledger.split_evenly": (open_ledger.split_evenly, {"runs": 2, "event": "pure(z)", "solve": "z"}),
        "Ledger.close": (lambda: memory().close(), {}),
        "Reservation.spend": (lambda **said: reserved().spend(**said), {"event": surety.Event("gaussian(40)", "replace-one")}),
        "Reservation.release": (lambda **said: reserved().release(**said), {"noise": noise, "values": np.zeros(3)}),
        "Reservation.release_sum": (lambda **said: reserved().release_sum(**said), {"noise": noise, "rows": np.zeros((2, 3)), "clip": 0.5}),
        "Reservation.settle": (lambda **said: reserved().settle(**said), {"adaptive": False}),
        "Plan.release": (
            lambda data, ledger, ledger_must_exist: surety.plan([surety.count()], **{**PROMISE, "adjacency": "add-or-remove-one"}).release(
                data, ledger=surety.Ledger.in_memory() if ledger is None else ledger, ledger_must_exist=ledger_must_exist
            ),
            {**of_data, "ledger_must_exist": False},
        ),
        "Prepared.json": (surety.plan([surety.count()], **{**PROMISE, "adjacency": "add-or-remove-one"}).json, {}),
        "TrainingPlan.train": (
            lambda data, ledger, ledger_must_exist: surety.plan_training(**TRAINING).train(
                data, ledger=surety.Ledger.in_memory() if ledger is None else ledger, ledger_must_exist=ledger_must_exist
            ),
            {**of_data, "ledger_must_exist": False},
        ),
        "Released.json": (released.json, {}),
        "Released.plot": (released.plot, {"axes": [Axes()]}),
        "Released.to_pandas": (released.to_pandas, {}),
        "Released.to_polars": (released.to_polars, {}),
        "Enclosure.json": (answer.json, {}),
        "Model.load": (surety.Model.load, {"path": saved}),
        "Model.parse": (surety.Model.parse, {"text": model.text()}),
        "Model.save": (lambda path: model.save(path if isinstance(path, Path) or not isinstance(path, (str, bytes)) else folder / "odd"), {"path": folder / "again.json"}),
        "Model.text": (model.text, {}),
        "Model.json": (model.json, {}),
        "Model.lines": (model.lines, {}),
        "Model.predict": (model.predict, {"data": ROWS, "columns": None, "decimal": None, "quoted_lines": None, "no_limits": False}),
        "Model.predict_proba": (model.predict_proba, {"data": ROWS, "columns": None}),
        "Model.partial_effects": (model.partial_effects, {"data": ROWS, "columns": None}),
        "Model.effects": (model.effects, {}),
        "Model.plot": (model.plot, {"columns": None}),
        "Model.decision_function": (model.decision_function, {"data": ROWS, "columns": None}),
    }


@pytest.fixture(scope="module")
def table() -> Iterator[dict[str, tuple[Callable[..., Any], dict[str, Any]]]]:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield calls(Path(folder))


def methods_of(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for owner in kind.__mro__:
        for name, member in vars(owner).items():
            function = member.__func__ if isinstance(member, classmethod) else member
            if owner.__module__.startswith("surety_dp") and not name.startswith("_") and inspect.isfunction(function):
                yield f"{owner.__name__}.{name}", function


def public_functions() -> dict[str, Callable[..., Any]]:
    """Of functions, constructors of classes that people make, and methods."""
    found: dict[str, Callable[..., Any]] = {}
    for name in surety.__all__:
        thing = getattr(surety, name)
        if inspect.isfunction(thing):
            found[name] = thing
        elif inspect.isclass(thing) and not issubclass(thing, (Exception, int)):
            found.update(methods_of(thing))
            constructor = vars(thing).get("__init__")
            if inspect.isfunction(constructor) and len(inspect.signature(constructor).parameters) > 1 and constructor.__code__.co_filename != "<string>":
                found[name] = constructor
    return found


WRONG: list[Callable[[], Any]] = [
    *[lambda value=value: value for value in (None, True, 0, -1, 3, 2**31, 2**63, 2**70, -(10**30), 0.5, -0.0, 1e308, math.nan, math.inf, 1j)],
    *[lambda value=value: value for value in ("", "x", "1", "\0", "\ud800", "x" * 5000, "nowhere/a.csv", b"x", b"\xff")],
    *[lambda value=value: value for value in ((), (1,), (1, 0), ("a", "b"), [None], [[1]], {}, {"x": 1}, {1: None}, {None: ["a"]}, {1, 2})],
    *[object, lambda: print, lambda: surety, lambda: int, lambda: iter([1]), lambda: datetime.date(2026, 1, 1), lambda: decimal.Decimal("nan"), lambda: range(3)],
    *[lambda: np.float32(0.1), lambda: np.zeros(3), lambda: np.zeros((2, 2)), lambda: np.array(1.0), lambda: np.array(["a"]), lambda: np.zeros(3, "M8[s]"), lambda: np.zeros(3, ">i4")],
    *[lambda: released, lambda: model, lambda: noise, lambda: answer, memory, lambda: surety.Event("laplace(1)", "zero-out"), lambda: surety.count(), lambda: surety.ErrorCode.MEMORY],
]


#: Arguments whose large values are work that takes as long as it should.
LONG = {"steps", "n_children"}


class Hangs(BaseException):
    pass


@contextmanager
def at_most(seconds: float, what: str) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise Hangs(f"{what} takes more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def wrong_about(error: BaseException, name: str) -> str | None:
    """What is wrong with a message about the argument ``name``."""
    words = str(error)
    if not isinstance(error, REFUSALS):
        return f"is a {type(error).__name__}"
    if RAW.search(words):
        return "is the binding's"
    if not words or "\n" in words or len(words) > 6000:
        return "is not one line"
    if isinstance(error, TypeError) and name not in words and name != "data":  # of data a column is named
        return "does not name the argument"
    return None


def test_every_public_function_is_called(table: dict[str, Any]) -> None:
    assert set(table) == set(public_functions())
    for name, (call, arguments) in table.items():
        known = inspect.signature(public_functions()[name]).parameters
        assert set(arguments) <= set(known), name


@pytest.mark.filterwarnings("ignore")
def test_arguments_of_the_table_fit(table: dict[str, Any]) -> None:
    """Else what is refused may be another argument than the wrong one."""
    for name, (call, arguments) in table.items():
        if name in ("Ledger.settle", "Released.to_pandas", "Released.to_polars", "Model.plot", "histogram", "variance", "mean", "sum"):
            continue  # settled already; not installed; both of two
        call(**arguments)


@pytest.mark.filterwarnings("ignore")
def test_no_message_is_the_bindings(table: dict[str, Any]) -> None:
    chance = random.Random(SEED)
    places = [(name, argument) for name, (_, arguments) in table.items() for argument in arguments if argument not in LONG]
    refused = 0
    findings = []
    for count in range(CALLS):
        name, argument = places[count % len(places)] if count < 4 * len(places) else chance.choice(places)
        call, arguments = table[name]
        value = chance.choice(WRONG)()
        try:
            with at_most(20, f"{name}({argument}={value!r:.80})"):
                call(**{**arguments, argument: value})
        except Exception as error:
            refused += 1
            why = wrong_about(error, argument)
            if why is not None:
                findings.append(f"{name}({argument}={value!r:.80}): {type(error).__name__} {str(error)[:300]!r} {why}")
    assert not findings, f"{len(findings)} findings:\n" + "\n".join(findings)
    assert refused > CALLS // 2


def misspelt(name: str) -> str:
    return name[0] + name


def test_a_misspelt_keyword_names_the_one_that_is_meant() -> None:
    checked = 0
    for place, function in public_functions().items():
        for name, parameter in inspect.signature(function).parameters.items():
            if name in ("self", "cls") or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            wrong = misspelt(name)
            with pytest.raises(TypeError, match=re.escape(f"got an unexpected keyword argument {wrong!r}")) as refused:
                function(None, **{wrong: 1}) if place.count(".") or place[0].isupper() else function(**{wrong: 1})
            words = str(refused.value)
            assert words.startswith(f"{place}() "), (place, words)
            if name not in ("r",):  # of one letter
                assert words.endswith(f"; did you mean {name!r}?"), (place, words)
            checked += 1
    assert checked > 400


def test_every_keyword_stands_in_a_signature() -> None:
    for name, function in public_functions().items():
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds, name
    training = inspect.signature(surety.train).parameters
    assert {"steps", "clip", "bounds"} <= set(training) and training["steps"].kind is inspect.Parameter.KEYWORD_ONLY
    assert training["unit"].default is inspect.Parameter.empty and training["steps"].default is None and training["no_limits"].default is False
    of_mean = inspect.signature(surety.mean).parameters
    assert (of_mean["weight"].default, of_mean["epsilon"].default, of_mean["delta"].default) == (1, None, 0)
