"""Numbers are the command's to the last bit; arguments that are wrong are refused."""

from __future__ import annotations

import ast
import json
import math
import os
import pickle
import re
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surety_dp as surety
from surety_dp._errors import error_of

EVENTS = [
    ("gaussian(2)", "replace-one"),
    ("repeat(10000, poisson(0.01, gaussian(1)))", "add-or-remove-one"),
    ("compose(gaussian(3), repeat(5, laplace(8)))", "add-or-remove-one"),
    ("discrete_gaussian(3, 1)", "zero-out"),
    ("allocated(10, 1, gaussian(2))", "zero-out"),
    ("repeat(20, without_replacement(1000, 10, gaussian(1)))", "replace-one"),
]


def command(*arguments: str) -> Any:
    """What the command prints as JSON."""
    program = os.environ.get("SURETY_COMMAND")
    if program is None:
        pytest.skip("SURETY_COMMAND does not name a command to compare with")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def ends(told: dict[str, float | str]) -> tuple[float, float]:
    return float(told["lower"]), float(told["upper"])


@pytest.mark.parametrize("text, adjacency", EVENTS)
def test_epsilon_and_delta_are_the_commands(text: str, adjacency: surety.Adjacency) -> None:
    told = command("account", "--event", text, "--adjacency", adjacency, "--delta", "1e-6", "--json")
    found = surety.epsilon(text, delta=1e-6, adjacency=adjacency)
    assert (tuple(found), found.accountant) == (ends(told["epsilon"]), told["accountant"])
    told = command("account", "--event", text, "--adjacency", adjacency, "--epsilon", "1.5", "--json")
    found = surety.delta(surety.Event(text, adjacency), epsilon=1.5)
    assert (tuple(found), found.accountant) == (ends(told["delta"]), told["accountant"])


@pytest.mark.parametrize("text, adjacency", EVENTS[:3])
def test_explanations_are_the_commands(text: str, adjacency: surety.Adjacency) -> None:
    about = ["account", "--event", text, "--adjacency", adjacency, "--explain", "--json"]
    assert surety.explain(text, adjacency=adjacency, delta=1e-6) == command(*about, "--delta", "1e-6")
    assert surety.explain(text, adjacency=adjacency, epsilon=2.0, width=0.01) == command(*about, "--epsilon", "2", "--width", "0.01")


@pytest.mark.parametrize("text, adjacency", EVENTS[:2])
def test_curves_are_the_commands(text: str, adjacency: surety.Adjacency) -> None:
    about = ["--event", text, "--adjacency", adjacency, "--width", "0.001", "--points", "5", "--json"]
    for kind, across, up, curve in [
        ("delta", "epsilon", "delta", surety.curve),
        ("tradeoff", "false_positive_rate", "false_negative_rate", surety.tradeoff),
    ]:
        told = command("curve", *about, "--kind", kind)["points"]
        found = curve(text, [point[across] for point in told], adjacency=adjacency, width=0.001)
        assert (found.across, found.up) == (across, up)
        assert list(zip(found.lower, found.upper)) == [ends(point[up]) for point in told]


def test_risk_is_the_commands() -> None:
    text = "repeat(100, poisson(0.01, gaussian(1)))"
    told = command("account", "--event", text, "--adjacency", "add-or-remove-one", "--risk", "--prior", "0.2", "--json")
    found = surety.risk(text, adjacency="add-or-remove-one", prior=0.2)
    for name in ["advantage", "accuracy", "mu", "mu_above_floor"]:
        assert tuple(getattr(found, name)) == ends(told[name])
    rates = {one["false_positive_rate"]: ends(one["true_positive_rate"]) for one in told["true_positive_rates"]}
    assert {rate: tuple(one) for rate, one in found.true_positive_rates.items()} == rates


@pytest.mark.parametrize(
    "text, unknown, target",
    [
        ("repeat(100, gaussian(z))", "z", {"epsilon": 1.0, "delta": 1e-5}),
        ("repeat(steps, poisson(0.01, gaussian(1)))", "steps", {"epsilon": 4.0, "delta": 1e-5}),
        ("repeat(100, gaussian(z))", "z", {"advantage": 0.1}),
        ("gaussian(z)", "z", {"true_positive_rate": 0.05, "false_positive_rate": 0.01}),
    ],
)
def test_calibration_is_the_commands(text: str, unknown: str, target: dict[str, Any]) -> None:
    options = [word for name, value in target.items() for word in (f"--{name.replace('_', '-')}", repr(value))]
    told = command("calibrate", "--event", text, "--solve", unknown, "--adjacency", "add-or-remove-one", *options, "--json")
    found = surety.calibrate(text, solve=unknown, adjacency="add-or-remove-one", **target)
    assert found.value == told[unknown]
    assert (found.failing, found.failing_is_proved) == (told.get("failing"), told.get("failing_is_proved", True))
    assert found.is_tight is told["tight"]
    assert (found.parameter, found.event.text) == (told["parameter"], told["event"])
    bounded = next(name for name in ("epsilon", "advantage", "true_positive_rate") if name in target)
    assert tuple(found.cost) == ends(told[bounded])


def test_enclosures_print_outward() -> None:
    enclosure = surety.Enclosure(1.00000000001, 1.00000000001, "somebody")
    assert str(enclosure) == "[1, 1.000000001]"
    assert repr(surety.Enclosure(0.0, math.inf)) == "<Enclosure [0, infinity]>"
    assert str(surety.Enclosure(9.9999999999e-06, 123456789012.0)) == "[9.999999999e-06, 1.234567891e+11]"
    assert "somebody" in enclosure._repr_html_()
    assert enclosure.width == 0 and 1.00000000001 in enclosure and 1.0 not in enclosure
    assert isinstance(enclosure.upper, float)


def test_an_enclosure_is_its_upper_bound_as_a_number() -> None:
    cost = surety.Enclosure(0.1234, 0.12341, "somebody")
    assert float(cost) == 0.12341 and math.sqrt(cost) == math.sqrt(0.12341)
    assert (f"{cost:.3f}", f"{cost:.2e}", f"{cost}", f"{cost:>8.1f}") == ("0.124", "1.24e-1", str(cost), "     0.2")
    assert f"{cost:>30}" == str(cost).rjust(30)
    assert (round(cost, 5000), round(cost, 10**9)) == (0.12341, 0.12341) and round(cost, -(10**9)) >= 0.12341
    assert (round(cost), round(cost, 4), round(cost, 20)) == (1.0, 0.1235, 0.12341)
    assert round(surety.Enclosure(0.0, 123.0), -2) == 200
    for digits in range(-3, 20):
        for bound in (1 / 3, 5e-324, 1e300, 2.0**53 + 2, 0.1 + 0.2):
            assert round(surety.Enclosure(0.0, bound), digits) >= bound
            assert float(f"{surety.Enclosure(0.0, bound):.17f}") >= bound
    endless = surety.Enclosure(0.0, math.inf)
    assert (float(endless), round(endless, 2), f"{endless:.2f}") == (math.inf, math.inf, "inf")
    assert json.loads(cost.json()) == {"lower": 0.1234, "upper": 0.12341, "accountant": "somebody"}
    assert json.loads(endless.json()) == {"lower": 0.0, "upper": "infinity"}


def test_an_enclosure_is_compared_where_its_bounds_decide() -> None:
    cost = surety.Enclosure(1.0, 2.0)
    assert cost > 0.5 and cost >= 1 and not cost < 1 and not cost <= np.float64(0.5)
    assert cost < 3 and cost <= 2 and not cost > 2 and not cost >= 3
    assert cost < surety.Enclosure(2.5, 3.0) and surety.Enclosure(2.0, 3.0) >= cost
    assert 3 > cost and 0.5 < cost and bool(np.float64(3) > cost) and not np.float64(0.5) > cost
    undecided: list[Callable[[], bool]] = [lambda: cost > 1.5, lambda: cost >= 1.5, lambda: cost < 2, lambda: cost <= 1, lambda: cost > 1, lambda: cost >= 2, lambda: cost < cost]
    undecided += [lambda: cost > math.nan, lambda: cost < math.nan]
    for compare in undecided:
        with pytest.raises(surety.InvalidArgument, match=r"not decided: compare \.upper"):
            compare()
    with pytest.raises(TypeError, match="must be a number"):
        cost > "1"


def test_events_add_up() -> None:
    step = surety.Event("gaussian(2)", "replace-one")
    assert sum([step, step]) == step + step and sum([step]) == step
    other: Any
    for other in (1, 0.0, True, False, "0"):
        with pytest.raises(TypeError):
            other + step


def test_errors_are_of_their_kind_and_say_what_to_do() -> None:
    kinds = {
        surety.InvalidArgument: "INVALID_ARGUMENT",
        surety.NotSupported: "UNSUPPORTED",
        surety.BadData: "BAD_DATA",
        surety.BudgetExceeded: "BUDGET_EXCEEDED",
        surety.DamagedLedger: "DAMAGED_LEDGER",
        surety.SystemFailure: "ENVIRONMENT",
        surety.Unreachable: "UNREACHABLE",
        surety.MemoryLimit: "MEMORY",
        surety.InternalError: "INTERNAL",
        surety.Stopped: "STOPPED",
    }
    assert set(kinds.values()) == set(surety.ErrorCode.__members__)
    for kind, name in kinds.items():
        error = error_of(surety.ErrorCode[name], "why")
        assert type(error) is kind and isinstance(error, surety.SuretyError) and error.code.name == name
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind and str(again) == str(error)
        assert isinstance(error, ValueError) == (name == "INVALID_ARGUMENT")
        # An invalid argument's constraint says what to do.
        assert str(error) == "why" if name == "INVALID_ARGUMENT" else re.fullmatch("why; [a-z].{15,}[^.]", str(error))
    with pytest.raises(surety.Stopped, match="set a larger limit_seconds or width$"):
        surety.epsilon("repeat(10000, poisson(0.01, gaussian(0.5)))", delta=1e-9, adjacency="add-or-remove-one", width=1e-9, limit_seconds=1e-9)
    with pytest.raises(surety.Unreachable, match="allow a larger epsilon or delta, or release less$"):
        surety.calibrate("repeat(n, gaussian(0.001))", solve="n", epsilon=0.1, delta=1e-9, adjacency="replace-one")
    with pytest.raises(surety.SystemFailure, match="/nothing/none.db"):
        surety.Ledger("/nothing/none.db")
    ledger = surety.Ledger.in_memory(adjacency="replace-one", epsilon=1, delta=1e-5)
    with pytest.raises(surety.BudgetExceeded, match="Ledger.room_for and Ledger.split_evenly say how much$"):
        ledger.reserve("gaussian(0.1)")
    with ledger.reserve("pure(0.1)") as run, pytest.raises(surety.BudgetExceeded, match="reserve more before the run starts$"):
        run.spend(surety.Event("pure(0.2)", "replace-one"))
    for kind in kinds:
        assert getattr(surety, kind.__name__) is kind and kind.__module__ == "surety_dp"


def test_event_texts_take_quotients_and_exponents() -> None:
    event = surety.Event("repeat(1e3, poisson(2/3000, gaussian(1)))", "add-or-remove-one")
    assert str(event) == f"repeat(1000, poisson({2 / 3000}, gaussian(1)))"
    assert surety.Event(str(event), "add-or-remove-one") == event
    for text, refusal in [
        ("gaussian(1/0)", "noise multiplier is 1/0, must be a quotient of two finite numbers"),
        ("repeat(4/2, gaussian(1))", "count is a quotient"),
        ("repeat(1.5, gaussian(1))", "count is 1.5, must be an integer"),
        ("gausian(1)", "unknown event type 'gausian' at position 1; did you mean 'gaussian'?"),
    ]:
        with pytest.raises(ValueError, match=re.escape(refusal)):
            surety.Event(text, "add-or-remove-one")


def test_events_combine_compare_and_pickle() -> None:
    one = surety.Event("gaussian(z)", "replace-one", {"z": 3})
    two = surety.Event("laplace(2)", "replace-one")
    assert str(3 * one) == str(one * 3) == str(np.int64(3) * one) == str(one * np.uint8(3)) == "repeat(3, gaussian(3))"
    assert str(one + two + one) == "compose(gaussian(3), laplace(2), gaussian(3))"
    assert str(one + (two + one)) == "compose(gaussian(3), laplace(2), gaussian(3))"
    assert one + two == surety.Event("compose(gaussian(3), laplace(2))", "replace-one") != two + one
    assert len({one, surety.Event("gaussian(3)", "replace-one"), surety.Event("gaussian(3)", "zero-out")}) == 2
    for event in [one, 3 * one + two]:
        again = pickle.loads(pickle.dumps(event))
        assert again == event and hash(again) == hash(event) and again.json() == event.json()
        assert eval(repr(event), {"Event": surety.Event}) == event
        assert event.json().encode() in pickle.dumps(event)
    with pytest.raises(ValueError, match="adjacency"):
        one + surety.Event("laplace(2)", "zero-out")
    wrong: Any
    for wrong in [0, -1, 2**64, 2**53 + 1]:
        with pytest.raises(ValueError, match="count is"):
            wrong * one
    for wrong in [1.5, "3", None, one]:
        with pytest.raises(TypeError):
            wrong * one
        with pytest.raises(TypeError):
            wrong + one if wrong is not one else one + wrong.json()


def test_refusals_say_what_and_which() -> None:
    with pytest.raises(surety.SuretyError, match="no accountant has a theorem for compose") as refused:
        surety.delta("compose(approx(1, 1e-06), zcdp(20000))", epsilon=1, adjacency="replace-one")
    assert type(refused.value) is surety.NotSupported and refused.value.code == surety.ErrorCode.UNSUPPORTED
    with pytest.raises(surety.SuretyError) as unreachable:
        surety.calibrate("repeat(n, gaussian(0.001))", solve="n", epsilon=0.1, delta=1e-9, adjacency="replace-one")
    assert unreachable.value.code == surety.ErrorCode.UNREACHABLE and not isinstance(unreachable.value, ValueError)
    with pytest.raises(surety.InvalidArgument, match="delta") as invalid:
        surety.epsilon("gaussian(1)", delta=math.nan, adjacency="replace-one")
    again = pickle.loads(pickle.dumps(invalid.value))
    assert (str(again), again.code, type(again)) == (str(invalid.value), surety.ErrorCode.INVALID_ARGUMENT, surety.InvalidArgument)
    event = surety.Event("gaussian(1)", "replace-one")
    arguments: Any
    for arguments in [{"epsilon": 1.0}, {}, {"epsilon": 1.0, "delta": 1e-5, "advantage": 0.1}, {"true_positive_rate": 0.1}]:
        with pytest.raises(TypeError, match="target"):
            surety.calibrate("gaussian(z)", adjacency="replace-one", **arguments)
    with pytest.raises(TypeError, match="adjacency is missing"):
        surety.epsilon("gaussian(1)", delta=1e-5)
    with pytest.raises(ValueError, match="as in the event"):
        surety.epsilon(event, delta=1e-5, adjacency="zero-out")
    with pytest.raises(ValueError, match="dimensions"):
        surety.curve(event, [[1.0]])
    assert len(surety.curve(event, [])) == 0


def test_arguments_of_a_wrong_type_are_refused_in_one_line_that_names_them() -> None:
    event: Any = surety.Event("gaussian(1)", "replace-one")
    wrong: Any = "1e-5"

    def calibrated(**changed: Any) -> Any:
        return surety.calibrate(**{"event": "gaussian(z)", "adjacency": "replace-one", "solve": "z", "epsilon": 1, "delta": 1e-5, **changed})

    for call, words in (
        (lambda: surety.epsilon(event, delta=wrong), "delta is '1e-5', must be a number"),
        (lambda: surety.epsilon(event, delta=[1e-5]), "delta is of type list, must be a number"),  # type: ignore[arg-type]
        (lambda: surety.epsilon(event, delta=None), "delta is None, must be a number"),  # type: ignore[arg-type]
        (lambda: surety.epsilon(event, delta=1e-5, width=wrong), "width is '1e-5', must be a number"),
        (lambda: surety.delta(event, epsilon=wrong), "epsilon is '1e-5', must be a number"),
        (lambda: surety.epsilon(3, delta=1e-5), "event is 3, must be a surety.Event or a text"),  # type: ignore[arg-type]
        (lambda: surety.explain(event, delta=wrong), "delta is '1e-5', must be a number"),
        (lambda: surety.curve(event, wrong + "x"), "epsilons must be numbers, as a list or an array"),
        (lambda: surety.tradeoff(event, [None, "x"]), "false_positive_rates must be numbers, as a list or an array"),  # type: ignore[arg-type]
        (lambda: surety.risk(event, prior=wrong), "prior is '1e-5', must be a number"),
        (lambda: surety.risk(event, false_positive_rates=["a"]), "a rate of false_positive_rates is 'a', must be a number"),  # type: ignore[list-item]
        (lambda: surety.Event("gaussian(z)", "replace-one", {"z": "a"}), "values['z'] is 'a', must be a number"),  # type: ignore[dict-item]
        (lambda: surety.Event("gaussian(z)", "replace-one", {3: 1}), "a name of values is 3, must be a text"),  # type: ignore[dict-item]
        (lambda: surety.Event("gaussian(z)", "replace-one", [1]), "values is of type list, must be a mapping of names to numbers"),  # type: ignore[arg-type]
        (lambda: surety.Event(3, "replace-one"), "text is 3, must be a text"),  # type: ignore[arg-type]
        (lambda: surety.Event("gaussian(1)", 3), "adjacency is 3, must be a text"),  # type: ignore[arg-type]
        (lambda: surety.Event.from_json(b"{}"), "text is b'{}', must be a text"),  # type: ignore[arg-type]
        (lambda: calibrated(event=event), "event is a surety.Event, must be a text in which 'z' stands for the number to find"),
        (lambda: calibrated(epsilon=wrong), "epsilon is '1e-5', must be a number"),
        (lambda: calibrated(solve=3), "solve is 3, must be a text"),
        (lambda: calibrated(epsilon=None, delta=None, advantage="a"), "advantage is 'a', must be a number"),
        (lambda: surety.audit_log(3), "log is 3, must be a text of JSON, its fields, or the history of an accountant"),  # type: ignore[arg-type]
        (lambda: surety.audit_log({}, delta=wrong), "delta is '1e-5', must be a number"),
    ):
        with pytest.raises(TypeError) as refused:
            call()
        assert str(refused.value) == words
    with pytest.raises(ValueError, match="epsilon is of type int, must be a number that a float holds"):
        surety.delta(event, epsilon=10**400)
    with pytest.raises(surety.InvalidArgument, match=r"^the name to solve for is 'z', must stand in the event 'gaussian\(1\)'$"):
        calibrated(event="gaussian(1)")
    # What turns into a float is one.
    assert surety.epsilon(event, delta=np.float64(0.5)) == surety.epsilon(event, delta=Fraction(1, 2)) == surety.epsilon(event, delta=0.5)  # type: ignore[arg-type]


def test_stubs_name_what_is_there() -> None:
    """Each function and class of the stub with its arguments, and nothing beside them."""
    package = Path(surety.__file__).parent
    library: Any = surety._library

    def arguments(function: ast.stmt) -> list[str]:
        assert isinstance(function, ast.FunctionDef)
        return [argument.arg for argument in function.args.args]

    declared = [one for one in ast.parse((package / "_library.pyi").read_text()).body if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    for one in declared:
        found = getattr(library, one.name)
        pairs = [(found, one)] if isinstance(one, ast.FunctionDef) else [(getattr(found, method.name), method) for method in one.body if isinstance(method, ast.FunctionDef)]
        for function, stub in pairs:
            signature = function.__nb_signature__[0][0]
            assert arguments(ast.parse(f"{signature}: ...").body[0]) == arguments(stub)
    there = {name for name in vars(library) if not name.startswith("__")} - {"version"}
    assert there == {one.name for one in declared}
    assert (package / "py.typed").exists()


class Axes:
    """What of Matplotlib's axes a plot asks."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **options: Any) -> list[Any]:
            self.calls.append(name)
            return [self]

        return call


def test_curves_plot_on_given_axes() -> None:
    axes = Axes()
    assert surety.curve("gaussian(1)", [0, 1], adjacency="replace-one").plot(axes) is axes
    assert axes.calls.count("plot") == 2 and "fill_between" in axes.calls and "set_yscale" in axes.calls
