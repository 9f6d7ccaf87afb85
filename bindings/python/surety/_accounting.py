"""What events cost, and how much noise they need."""

from __future__ import annotations

import html
import json
import math
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from surety import _library
from surety._errors import ErrorCode, InvalidArgument
from surety._events import Event, _event_of, _handle_of, _number_of, _number_or_none, _text_of

if TYPE_CHECKING:
    from typing import TypeAlias

    Numbers: TypeAlias = npt.NDArray[np.float64]

_DIGITS = 10


def _rounded(value: float, rounding: str) -> str:
    """As the command prints it: ten digits, rounded so that the interval only grows."""
    if math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    return f"{float(Context(prec=_DIGITS, rounding=rounding).create_decimal(Decimal(value))):.{_DIGITS}g}"


def _at_least(value: float, rounded: Decimal) -> float:
    """The rounded number as a float that is not below the value."""
    result = float(rounded)
    return result if result >= value else math.nextafter(result, math.inf)


def _undecided(message: str) -> InvalidArgument:
    return InvalidArgument(message, ErrorCode.INVALID_ARGUMENT)


@dataclass(frozen=True, slots=True)
class Enclosure:
    """An interval that contains the exact number; only ``upper`` is ever claimed, and it may be infinity.

    It prints ten digits, rounded outward. The bounds themselves are floats. As a number, in ``float``, ``round`` and formats such as ``.3f``, it is its upper
    bound, rounded up.

    A comparison with a number, or with another interval, has an answer where the bounds decide it, and raises ``ValueError`` elsewhere: compare ``upper`` with
    a budget that must be kept.

    >>> import surety
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
        return self.lower <= value <= self.upper

    def __iter__(self) -> Iterator[float]:
        return iter((self.lower, self.upper))

    def __float__(self) -> float:
        return float(self.upper)

    def __round__(self, digits: int | None = None) -> float:
        """The upper bound, rounded up."""
        if not math.isfinite(self.upper):
            return self.upper
        unit = Decimal(1).scaleb(-operator.index(digits or 0))
        exact = Context(prec=1200)
        return _at_least(self.upper, Decimal(self.upper).quantize(unit, rounding=ROUND_CEILING, context=exact))

    def __format__(self, spec: str) -> str:
        """Without a format as ``str``; else the upper bound, rounded up."""
        if not spec:
            return str(self)
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
        raise _undecided(f"{self} and {where} overlap, so the comparison is not decided: compare .upper, which is claimed, or .lower")

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
            from matplotlib import pyplot

            axes = pyplot.gca()
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
    event: Event | str, *, delta: float, adjacency: str | None = None, width: float | None = None, limit_seconds: float | None = None
) -> Enclosure:
    """The smallest epsilon at which the event is (epsilon, delta)-differentially private, by all accountants together.

    ``event`` is an ``Event``, or its text with the ``adjacency`` beside it. ``width`` is what accountants on a grid aim at, in epsilon (0.0001).
    ``limit_seconds`` is how long the answer may take: beyond, ``SuretyError`` (STOPPED). In the main thread a signal ends a question within a fifth
    of a second, also without a limit: what its handler raises, as KeyboardInterrupt, is raised. Both hold for every question.

    >>> import surety
    >>> surety.epsilon("repeat(100, gaussian(40))", delta=1e-5, adjacency="replace-one")
    <Enclosure [0.9263415039, 0.926341504] by closed-form>

    Raises ``SuretyError``: with the code UNSUPPORTED where no accountant has a theorem for the event: which part, and why.
    """
    return Enclosure(*_library.epsilon(_handle_of(event, adjacency), _number_of(delta, "delta"), *_effort(width, limit_seconds)))


def delta(
    event: Event | str, *, epsilon: float, adjacency: str | None = None, width: float | None = None, limit_seconds: float | None = None
) -> Enclosure:
    """The smallest delta at this epsilon. Arguments and errors as of ``epsilon``.

    >>> import surety
    >>> surety.delta("laplace(1)", epsilon=0.5, adjacency="replace-one")
    <Enclosure [0.2211992169, 0.221199217] by closed-form>
    """
    return Enclosure(*_library.delta(_handle_of(event, adjacency), _number_of(epsilon, "epsilon"), *_effort(width, limit_seconds)))


def explain(
    event: Event | str,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    adjacency: str | None = None,
    width: float | None = None,
    limit_seconds: float | None = None,
) -> dict[str, Any]:
    """What an answer rests on, as ``surety account --explain --json`` prints it: the theorem, what the numbers in the event mean, what each
    kind of sampling assumes, and what each accountant says.

    >>> import surety
    >>> told = surety.explain("gaussian(2)", delta=1e-5, adjacency="replace-one")
    >>> told["accountant"]
    'closed-form'
    >>> isinstance(told["explanation"][0], str)
    True

    Other arguments and errors as of ``epsilon``.
    """
    asked = _number_or_none(delta, "delta"), _number_or_none(epsilon, "epsilon")
    told = json.loads(_library.explain(_handle_of(event, adjacency), *asked, *_effort(width, limit_seconds)))
    assert isinstance(told, dict)
    return told


def _effort(width: object, limit_seconds: object) -> tuple[float | None, float | None]:
    return _number_or_none(width, "width"), _number_or_none(limit_seconds, "limit_seconds")


def _points(values: npt.ArrayLike, name: str) -> Numbers:
    try:
        points = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers, as a list or an array") from None
    if points.ndim != 1:
        raise ValueError(f"{name} has {points.ndim} dimensions, must have one")
    return points


def curve(
    event: Event | str,
    epsilons: npt.ArrayLike,
    *,
    adjacency: str | None = None,
    width: float | None = None,
    limit_seconds: float | None = None,
) -> Curve:
    """delta at each of many epsilons: quicker than one by one.

    >>> import surety
    >>> found = surety.curve("gaussian(2)", [0, 0.5, 1], adjacency="replace-one")
    >>> found.upper.round(6)
    array([0.197413, 0.05244 , 0.00683 ])
    >>> bool((found.lower <= found.upper).all())
    True

    ``found.plot()`` draws it where Matplotlib is. Other arguments and errors as of ``epsilon``.
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
    adjacency: str | None = None,
    width: float | None = None,
    limit_seconds: float | None = None,
) -> Curve:
    """The smallest rate of false negatives at each of many rates of false positives, in (0, 1): ``lower`` is what is guaranteed.

    >>> import surety
    >>> surety.tradeoff("gaussian(1)", [0.1, 0.5], adjacency="replace-one").lower.round(6)
    array([0.610856, 0.158655])

    Other arguments and errors as of ``epsilon``.
    """
    handle = _handle_of(event, adjacency)
    points = _points(false_positive_rates, "false_positive_rates")
    lower, upper = np.empty_like(points), np.empty_like(points)
    _library.tradeoff(handle, points, lower, upper, *_effort(width, limit_seconds))
    return Curve(points, lower, upper, "false_positive_rate", "false_negative_rate", _event_of(handle))


def risk(
    event: Event | str,
    *,
    adjacency: str | None = None,
    false_positive_rates: Iterable[float] = (0.001, 0.01, 0.1),
    prior: float = 0.5,
    floor: float = 1e-10,
    width: float | None = None,
    limit_seconds: float | None = None,
) -> Risk:
    """What an attacker gets: advantage, true positives at these rates of false positives, accuracy where the record is there with this prior
    probability, and the least mu that covers the event at every epsilon, and where delta is at least ``floor``.

    >>> import surety
    >>> found = surety.risk("gaussian(2)", adjacency="replace-one")
    >>> found.advantage
    <Enclosure [0.1974126513, 0.1974126514]>
    >>> found.mu
    <Enclosure [0.5, 0.5]>

    Other arguments and errors as of ``epsilon``.
    """
    rates = [_number_of(rate, "a rate of false_positive_rates") for rate in false_positive_rates]
    asked = _number_of(prior, "prior"), _number_of(floor, "floor")
    advantage, at, accuracy, mu, above = _library.risk(_handle_of(event, adjacency), rates, *asked, *_effort(width, limit_seconds))
    return Risk(Enclosure(*advantage), {rate: Enclosure(*ends) for rate, ends in at}, Enclosure(*accuracy), Enclosure(*mu), Enclosure(*above))


def calibrate(
    event: str,
    *,
    adjacency: str,
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
    """The value of the number that stands as ``solve`` in the event which meets the target with the least noise: a multiplier, a scale, a
    sampling rate or a count. The target is ``epsilon`` and ``delta``, or ``rho`` of zero-concentrated privacy, or ``advantage``, or
    ``true_positive_rate`` at ``false_positive_rate``. ``standard_deviation`` and ``delta`` ask the other way: with the most noise whose standard
    deviation on one number is no larger, ``cost`` is the epsilon; ``sensitivity`` is that of the query, in its units, 1 if it is not given.

    >>> import surety
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

    Raises ``SuretyError``: with the code UNREACHABLE where no value meets the target, naming what is reachable; ``TypeError`` where there is not
    exactly one target.
    """
    if isinstance(event, Event):
        raise TypeError(f"event is a surety.Event, must be a text in which {solve!r} stands for the number to find")
    event, solve, adjacency = _text_of(event, "event"), _text_of(solve, "solve"), _text_of(adjacency, "adjacency")
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
