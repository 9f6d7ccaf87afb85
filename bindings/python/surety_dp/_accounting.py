"""What events cost, and how much noise they need."""

from __future__ import annotations

import html
import json
import math
import operator
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from surety_dp import _library
from surety_dp._arguments import invalid, items, package, wrong_type
from surety_dp._events import Event, _event_of, _handle_of, _number_of, _number_or_none, _text_of
from surety_dp._types import Adjacency

if TYPE_CHECKING:
    from typing import TypeAlias

    Numbers: TypeAlias = npt.NDArray[np.float64]

_DIGITS = 10
_WIDTH_ALONE = re.compile(r"(.?[<>^])?\d*")


def _rounded(value: float, rounding: str) -> str:
    """As the command prints it: ten digits, rounded so that the interval only grows."""
    if math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    return f"{float(Context(prec=_DIGITS, rounding=rounding).create_decimal(Decimal(value))):.{_DIGITS}g}"


def _at_least(value: float, rounded: Decimal) -> float:
    """The rounded number as a float that is not below the value."""
    result = float(rounded)
    return result if result >= value else math.nextafter(result, math.inf)


@dataclass(frozen=True, slots=True)
class Enclosure:
    """An interval that contains the exact number; only ``upper`` is ever claimed, and it may be infinity.

    It prints ten digits, rounded outward. The bounds themselves are floats. As a number, in ``float``, ``round`` and formats such as ``.3f``, it is its upper
    bound, rounded up.

    A comparison with a number, or with another interval, has an answer where the bounds decide it, and raises ``ValueError`` elsewhere: compare ``upper`` with
    a budget that must be kept.

    >>> import surety_dp as surety
    >>> answer = surety.epsilon("repeat(10000, poisson(0.01, gaussian(1)))", delta=1e-5, adjacency="add-or-remove-one")
    >>> answer
    <Enclosure [6.187712389, 6.187712391] by contour>
    >>> 6.18771239 in answer, answer.upper <= 6.1877123905
    (True, True)
    >>> lower, upper = answer
    >>> float(answer) == upper, f"{answer:.3f}", round(answer, 2)
    (True, '6.188', 6.19)
    >>> answer > 6, answer <= 6.5
    (True, True)
    """

    lower: float
    upper: float
    accountant: str = ""  #: whose upper bound it is, where one accountant has answered
    # Comparisons with NumPy's numbers are those of this class.
    __array_ufunc__: ClassVar[None] = None

    @property
    def width(self) -> float:
        """The distance of the ends."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    def __contains__(self, value: float) -> bool:
        return self.lower <= _number_of(value, "what is looked for in an Enclosure") <= self.upper

    def __iter__(self) -> Iterator[float]:
        return iter((self.lower, self.upper))

    def __float__(self) -> float:
        return float(self.upper)

    def __round__(self, digits: int | None = None) -> float:
        """The upper bound, rounded up."""
        if not math.isfinite(self.upper):
            return self.upper
        # Doubles have at most 1,074 digits after the point, and none before the 309th.
        unit = Decimal(1).scaleb(-min(max(operator.index(digits or 0), -400), 1100))
        exact = Context(prec=1200)
        return _at_least(self.upper, Decimal(self.upper).quantize(unit, rounding=ROUND_CEILING, context=exact))

    def __format__(self, spec: str) -> str:
        """As ``str`` where the format names a width at most; else the upper bound, rounded up."""
        if _WIDTH_ALONE.fullmatch(spec):
            return format(str(self), spec)
        if not math.isfinite(self.upper):
            return format(self.upper, spec)
        with localcontext(Context(prec=1200, rounding=ROUND_CEILING)):
            return format(Decimal(self.upper), spec)

    def _is_below(self, other: object, strictly: bool) -> bool:
        """Whether the exact number is below another one: in an interval, or given. Raises ``ValueError`` where the bounds leave it open."""
        bounds = (other.lower, other.upper) if isinstance(other, Enclosure) else (_number_of(other, "what an Enclosure is compared with"),) * 2
        if self.upper < bounds[0] or (self.upper == bounds[0] and not strictly):
            return True
        if self.lower > bounds[1] or (self.lower == bounds[1] and strictly):
            return False
        where = f"{other}" if isinstance(other, Enclosure) else f"{bounds[0]!r}"
        raise invalid(f"{self} and {where} overlap, so the comparison is not decided: compare .upper, which is claimed, or .lower")

    def __lt__(self, other: object) -> bool:
        return self._is_below(other, True)

    def __le__(self, other: object) -> bool:
        return self._is_below(other, False)

    def __gt__(self, other: object) -> bool:
        return not self._is_below(other, False)

    def __ge__(self, other: object) -> bool:
        return not self._is_below(other, True)

    def json(self) -> str:
        """The bounds, and whose they are, as JSON: an infinite bound is a text."""
        bounds = {name: bound if math.isfinite(bound) else _rounded(bound, ROUND_CEILING) for name, bound in (("lower", self.lower), ("upper", self.upper))}
        return json.dumps(bounds | ({"accountant": self.accountant} if self.accountant else {}))

    def __str__(self) -> str:
        return f"[{_rounded(self.lower, ROUND_FLOOR)}, {_rounded(self.upper, ROUND_CEILING)}]"

    def __repr__(self) -> str:
        return f"<Enclosure {self}{' by ' + self.accountant if self.accountant else ''}>"

    def _repr_html_(self) -> str:
        by = f" <small>by {html.escape(self.accountant)}</small>" if self.accountant else ""
        return f"<span title='between {self.lower!r} and {self.upper!r}'>{self}{by}</span>"


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Enclosures of a curve at points of one's own choice, as NumPy arrays of one length."""

    x: Numbers
    lower: Numbers
    upper: Numbers
    across: str  #: what ``x`` is
    up: str  #: what the ends enclose
    event: Event

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return f"<Curve of {self.up} at {len(self)} points of {self.across}: {self.event}>"

    def plot(self, axes: Any = None) -> Any:
        """Draws both ends, and what lies between them. Needs Matplotlib, which is imported here alone. Returns the axes."""
        if axes is None:
            axes = package("matplotlib.pyplot", "plot").gca()
        if not hasattr(axes, "fill_between"):
            raise wrong_type("axes", axes, "axes of Matplotlib")
        if self.up == "delta":
            axes.set_yscale("log")
        (line,) = axes.plot(self.x, self.upper, label=f"{self.event}, {self.event.adjacency}")
        axes.plot(self.x, self.lower, color=line.get_color(), linewidth=0.5)
        axes.fill_between(self.x, self.lower, self.upper, color=line.get_color(), alpha=0.3)
        axes.set_xlabel(self.across.replace("_", " "))
        axes.set_ylabel(self.up.replace("_", " "))
        return axes


@dataclass(frozen=True, slots=True)
class Risk:
    """What an attacker gets at most who knows all other records, and asks whether this one is there."""

    advantage: Enclosure  #: true positives less false positives
    true_positive_rates: dict[float, Enclosure]  #: by the rate of false positives
    accuracy: Enclosure  #: of a guess at the prior
    mu: Enclosure  #: the least whose Gaussian curve covers every epsilon
    mu_above_floor: Enclosure  #: the same where delta is at least the floor


@dataclass(frozen=True, slots=True)
class Calibration:
    """The number that meets a target with the least noise, and what it was found by."""

    value: float
    event: Event  #: with that value
    cost: Enclosure  #: epsilon at the target's delta, or what the target of risk bounds
    parameter: str  #: what the number is: "noise multiplier"
    failing: float | None = field(repr=False)  #: the nearest value tried that does not meet the target; None where every one does
    failing_is_proved: bool = field(repr=False)  #: nobody can show that it does
    gap: float = field(repr=False, default=0.0)  #: how far the nearest value that is not proved to meet the target is, as a share

    @property
    def is_tight(self) -> bool:
        """Whether that is at most 1 % away; else a value with less noise may meet the target, too."""
        return self.gap <= 0.01


def epsilon(
    event: Event | str, *, delta: float, adjacency: Adjacency | None = None, width: float | None = None, limit_seconds: float | None = None
) -> Enclosure:
    """The smallest epsilon at which the event is (epsilon, delta)-differentially private: the best of all accountants.

    Parameters
    ----------
    event : Event or str
        What is released: an ``Event``, or its text with ``adjacency``.
    delta : float
        The delta, at least 0 and less than 1.
    adjacency : str, optional
        Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out". Required for a text.
    width : float, optional
        The width of the result, in epsilon, that accountants on a grid aim at. Default 0.0001.
    limit_seconds : float, optional
        The time that the call may take. In the main thread Control-C ends it within a fifth of a second, also without a limit.

    Returns
    -------
    Enclosure
        An interval that contains the exact epsilon. Its upper bound holds; it may be infinity.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    NotSupported
        No accountant has a theorem for the event; the message names the part.
    Stopped
        ``limit_seconds`` have passed.
    TypeError
        An argument has another type.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.epsilon("repeat(100, gaussian(40))", delta=1e-5, adjacency="replace-one")
    <Enclosure [0.9263415039, 0.926341504] by closed-form>
    """
    return Enclosure(*_library.epsilon(_handle_of(event, adjacency), _number_of(delta, "delta"), *_effort(width, limit_seconds)))


def delta(
    event: Event | str, *, epsilon: float, adjacency: Adjacency | None = None, width: float | None = None, limit_seconds: float | None = None
) -> Enclosure:
    """The smallest delta at which the event is (epsilon, delta)-differentially private.

    Parameters
    ----------
    event : Event or str
        What is released: an ``Event``, or its text with ``adjacency``.
    epsilon : float
        The epsilon, at least 0.
    adjacency : str, optional
        Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out". Required for a text.
    width : float, optional
        The width of the result, in epsilon, that accountants on a grid aim at. Default 0.0001.
    limit_seconds : float, optional
        The time that the call may take. In the main thread Control-C ends it within a fifth of a second, also without a limit.

    Returns
    -------
    Enclosure
        An interval that contains the exact delta. Its upper bound holds.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    NotSupported
        No accountant has a theorem for the event; the message names the part.
    Stopped
        ``limit_seconds`` have passed.
    TypeError
        An argument has another type.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.delta("laplace(1)", epsilon=0.5, adjacency="replace-one")
    <Enclosure [0.2211992169, 0.221199217] by closed-form>
    """
    return Enclosure(*_library.delta(_handle_of(event, adjacency), _number_of(epsilon, "epsilon"), *_effort(width, limit_seconds)))


def explain(
    event: Event | str,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    adjacency: Adjacency | None = None,
    width: float | None = None,
    limit_seconds: float | None = None,
) -> dict[str, Any]:
    """What an answer rests on, as ``surety account --explain --json`` prints it.

    Parameters
    ----------
    event : Event or str
        What is released: an ``Event``, or its text with ``adjacency``.
    delta, epsilon : float, optional
        One of them: the other is explained.
    adjacency : str, optional
        Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out". Required for a text.
    width : float, optional
        The width of the result, in epsilon, that accountants on a grid aim at. Default 0.0001.
    limit_seconds : float, optional
        The time that the call may take. In the main thread Control-C ends it within a fifth of a second, also without a limit.

    Returns
    -------
    dict
        The theorem, the meaning of each number in the event, the assumptions of each kind of sampling, and the result of each accountant.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    NotSupported
        No accountant has a theorem for the event; the message names the part.
    Stopped
        ``limit_seconds`` have passed.
    TypeError
        An argument has another type.

    Examples
    --------
    >>> import surety_dp as surety
    >>> told = surety.explain("gaussian(2)", delta=1e-5, adjacency="replace-one")
    >>> told["accountant"]
    'closed-form'
    >>> isinstance(told["explanation"][0], str)
    True
    """
    asked = _number_or_none(delta, "delta"), _number_or_none(epsilon, "epsilon")
    told = json.loads(_library.explain(_handle_of(event, adjacency), *asked, *_effort(width, limit_seconds)))
    assert isinstance(told, dict)
    return told


def _effort(width: object, limit_seconds: object) -> tuple[float | None, float | None]:
    return _number_or_none(width, "width"), _number_or_none(limit_seconds, "limit_seconds")


def _probability(name: str, value: object) -> float:
    result = _number_of(value, name)
    if not 0 < result < 1:
        raise invalid(f"{name} is {result!r}, must be greater than 0 and less than 1")
    return result


def _points(values: npt.ArrayLike, name: str) -> Numbers:
    try:
        points = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers, as a list or an array") from None
    if points.ndim != 1:
        raise invalid(f"{name} has {points.ndim} dimensions, must have one")
    return points


def curve(
    event: Event | str,
    epsilons: npt.ArrayLike,
    *,
    adjacency: Adjacency | None = None,
    width: float | None = None,
    limit_seconds: float | None = None,
) -> Curve:
    """delta at each of many epsilons, which is faster than one call for each.

    Parameters
    ----------
    event : Event or str
        What is released: an ``Event``, or its text with ``adjacency``.
    epsilons : array_like
        Epsilons, each at least 0, in one dimension.
    adjacency : str, optional
        Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out". Required for a text.
    width : float, optional
        The width of the result, in epsilon, that accountants on a grid aim at. Default 0.0001.
    limit_seconds : float, optional
        The time that the call may take. In the main thread Control-C ends it within a fifth of a second, also without a limit.

    Returns
    -------
    Curve
        Arrays ``x``, ``lower`` and ``upper`` of the same length. ``upper`` holds; ``plot()`` draws both where Matplotlib is installed.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    NotSupported
        No accountant has a theorem for the event; the message names the part.
    Stopped
        ``limit_seconds`` have passed.
    TypeError
        An argument has another type.

    Examples
    --------
    >>> import surety_dp as surety
    >>> found = surety.curve("gaussian(2)", [0, 0.5, 1], adjacency="replace-one")
    >>> found.upper.round(6)
    array([0.197413, 0.05244 , 0.00683 ])
    >>> bool((found.lower <= found.upper).all())
    True
    """
    handle = _handle_of(event, adjacency)
    points = _points(epsilons, "epsilons")
    lower, upper = np.empty_like(points), np.empty_like(points)
    _library.curve(handle, points, lower, upper, *_effort(width, limit_seconds))
    return Curve(points, lower, upper, "epsilon", "delta", _event_of(handle))


def tradeoff(
    event: Event | str,
    false_positive_rates: npt.ArrayLike,
    *,
    adjacency: Adjacency | None = None,
    width: float | None = None,
    limit_seconds: float | None = None,
) -> Curve:
    """The smallest rate of false negatives of any test for one record, at each of many rates of false positives.

    Parameters
    ----------
    event : Event or str
        What is released: an ``Event``, or its text with ``adjacency``.
    false_positive_rates : array_like
        Rates in (0, 1), in one dimension.
    adjacency : str, optional
        Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out". Required for a text.
    width : float, optional
        The width of the result, in epsilon, that accountants on a grid aim at. Default 0.0001.
    limit_seconds : float, optional
        The time that the call may take. In the main thread Control-C ends it within a fifth of a second, also without a limit.

    Returns
    -------
    Curve
        Arrays ``x``, ``lower`` and ``upper`` of the same length. ``lower`` is guaranteed.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    NotSupported
        No accountant has a theorem for the event; the message names the part.
    Stopped
        ``limit_seconds`` have passed.
    TypeError
        An argument has another type.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.tradeoff("gaussian(1)", [0.1, 0.5], adjacency="replace-one").lower.round(6)
    array([0.610856, 0.158655])
    """
    handle = _handle_of(event, adjacency)
    points = _points(false_positive_rates, "false_positive_rates")
    for rate in points:
        _probability("a rate of false_positive_rates", float(rate))
    lower, upper = np.empty_like(points), np.empty_like(points)
    _library.tradeoff(handle, points, lower, upper, *_effort(width, limit_seconds))
    return Curve(points, lower, upper, "false_positive_rate", "false_negative_rate", _event_of(handle))


def risk(
    event: Event | str,
    *,
    adjacency: Adjacency | None = None,
    false_positive_rates: Iterable[float] = (0.001, 0.01, 0.1),
    prior: float = 0.5,
    floor: float = 1e-10,
    width: float | None = None,
    limit_seconds: float | None = None,
) -> Risk:
    """The success of an attacker who knows all other records and tests whether this one is there.

    Parameters
    ----------
    event : Event or str
        What is released: an ``Event``, or its text with ``adjacency``.
    adjacency : str, optional
        Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out". Required for a text.
    false_positive_rates : iterable of float
        Rates in (0, 1) at which the rate of true positives is computed.
    prior : float
        The probability, in (0, 1), that the record is there, for the accuracy of a guess.
    floor : float
        The smallest delta that counts for ``mu_above_floor``, at least 0 and less than 1.
    width : float, optional
        The width of the result, in epsilon, that accountants on a grid aim at. Default 0.0001.
    limit_seconds : float, optional
        The time that the call may take. In the main thread Control-C ends it within a fifth of a second, also without a limit.

    Returns
    -------
    Risk
        Intervals of the advantage, the rates of true positives, the accuracy, and the least mu whose Gaussian curve covers the event at every epsilon, or
        where delta is at least ``floor``. The upper bounds hold.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    NotSupported
        No accountant has a theorem for the event; the message names the part.
    Stopped
        ``limit_seconds`` have passed.
    TypeError
        An argument has another type.

    Examples
    --------
    >>> import surety_dp as surety
    >>> found = surety.risk("gaussian(2)", adjacency="replace-one")
    >>> found.advantage
    <Enclosure [0.1974126513, 0.1974126514]>
    >>> found.mu
    <Enclosure [0.5, 0.5]>
    """
    rates = [_probability("a rate of false_positive_rates", rate) for rate in items("false_positive_rates", false_positive_rates, "a list of numbers")]
    asked = _probability("prior", prior), _number_of(floor, "floor")
    if not 0 <= asked[1] < 1:
        raise invalid(f"floor is {asked[1]!r}, must be at least 0 and less than 1")
    advantage, at, accuracy, mu, above = _library.risk(_handle_of(event, adjacency), rates, *asked, *_effort(width, limit_seconds))
    return Risk(Enclosure(*advantage), {rate: Enclosure(*ends) for rate, ends in at}, Enclosure(*accuracy), Enclosure(*mu), Enclosure(*above))


def calibrate(
    event: str,
    *,
    adjacency: Adjacency,
    solve: str = "z",
    epsilon: float | None = None,
    delta: float | None = None,
    advantage: float | None = None,
    true_positive_rate: float | None = None,
    false_positive_rate: float | None = None,
    rho: float | None = None,
    standard_deviation: float | None = None,
    sensitivity: float | None = None,
    width: float | None = None,
    limit_seconds: float | None = None,
) -> Calibration:
    """The value of one number of an event that meets a target with the least noise.

    Parameters
    ----------
    event : str
        A text in which ``solve`` stands for the number: a noise multiplier, a scale, a sampling rate or a count.
    adjacency : str
        Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out".
    solve : str
        The name of the number. Default "z".
    epsilon, delta : float, optional
        The target, both together.
    advantage : float, optional
        Another target: the largest advantage of an attacker, in (0, 1).
    true_positive_rate, false_positive_rate : float, optional
        Another target: the largest rate of true positives at this rate of false positives.
    rho : float, optional
        Another target: the rho of zero-concentrated differential privacy.
    standard_deviation : float, optional
        The other direction, with ``delta``: the most noise whose standard deviation on one number is at most this; ``cost`` is then its epsilon.
    sensitivity : float, optional
        The sensitivity of the query, in its units, with ``standard_deviation``. Default 1.
    width : float, optional
        The width of the result, in epsilon, that accountants on a grid aim at. Default 0.0001.
    limit_seconds : float, optional
        The time that the call may take. In the main thread Control-C ends it within a fifth of a second, also without a limit.

    Returns
    -------
    Calibration
        ``value``, the ``event`` with it, and its ``cost``, an Enclosure of the epsilon at ``delta`` or of what the target bounds.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    NotSupported
        No accountant has a theorem for the event; the message names the part.
    Unreachable
        No value meets the target; the message names what is reachable.
    Stopped
        ``limit_seconds`` have passed.
    TypeError
        There is not exactly one target, or an argument has another type.

    Examples
    --------
    >>> import surety_dp as surety
    >>> found = surety.calibrate("repeat(100, gaussian(z))", epsilon=1, delta=1e-5, adjacency="replace-one")
    >>> found.value
    37.30631634815949
    >>> found.cost
    <Enclosure [0.9999999999, 1] by closed-form>
    >>> surety.epsilon(found.event, delta=1e-5) == found.cost
    True
    >>> round(surety.calibrate("gaussian(z)", rho=0.5, adjacency="replace-one").value, 9)
    1.0
    >>> surety.calibrate("gaussian(z)", standard_deviation=6, sensitivity=2, delta=1e-5, adjacency="replace-one").event.text
    'gaussian(3)'
    """
    if isinstance(event, Event):
        raise TypeError(f"event is a surety.Event, must be a text in which {solve!r} stands for the number to find")
    event, solve = _text_of(event, "event"), _text_of(solve, "solve")
    _text_of(adjacency, "adjacency")
    epsilon, delta = _number_or_none(epsilon, "epsilon"), _number_or_none(delta, "delta")
    effort = _effort(width, limit_seconds)
    advantage = _number_or_none(advantage, "advantage")
    true_positive_rate = _number_or_none(true_positive_rate, "true_positive_rate")
    false_positive_rate = _number_or_none(false_positive_rate, "false_positive_rate")
    rho = _number_or_none(rho, "rho")
    standard_deviation, sensitivity = _number_or_none(standard_deviation, "standard_deviation"), _number_or_none(sensitivity, "sensitivity")
    of_rates = true_positive_rate is not None or false_positive_rate is not None
    of_accuracy = standard_deviation is not None
    of_budget = epsilon is not None or (delta is not None and not of_accuracy)
    if of_budget + (advantage is not None) + of_rates + (rho is not None) + of_accuracy != 1:
        raise TypeError(
            "there must be one target: epsilon and delta, or rho, or advantage, or true_positive_rate and false_positive_rate, or standard_deviation"
        )
    if sensitivity is not None and not of_accuracy:
        raise TypeError("sensitivity is given without standard_deviation, must be given with it")
    if standard_deviation is not None:
        if delta is None:
            raise TypeError("standard_deviation is given without delta, must be given with it")
        value, parameter, handle = _library.noise_of_accuracy(event, solve, adjacency, standard_deviation, sensitivity)
        accurate = _event_of(handle)
        return Calibration(value, accurate, Enclosure(*_library.epsilon(handle, delta, *effort)), parameter, None, True, 0)
    if rho is not None:
        value, failing, proved, gap, parameter, handle, ends = _library.solve_rho(event, solve, adjacency, rho, effort[1])
        return Calibration(value, _event_of(handle), Enclosure(*ends), parameter, failing, proved, gap)
    if of_budget:
        if epsilon is None or delta is None:
            raise TypeError("epsilon and delta are one target, must be given together")
        value, failing, proved, gap, parameter, handle, answer = _library.solve(event, solve, adjacency, epsilon, delta, *effort)
        cost = Enclosure(*answer)
    else:
        if advantage is None and (true_positive_rate is None or false_positive_rate is None):
            raise TypeError("true_positive_rate and false_positive_rate are one target, must be given together")
        most = advantage if advantage is not None else true_positive_rate
        value, failing, proved, gap, parameter, handle, ends = _library.solve_risk(event, solve, adjacency, most, false_positive_rate, *effort)
        cost = Enclosure(*ends)
    return Calibration(value, _event_of(handle), cost, parameter, failing, proved, gap)
