"""Exact noise on NumPy arrays, and the operating system's random bits for NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import SeedlessSeedSequence

from surety_dp import _arguments, _library
from surety_dp._events import Event, _event_of
from surety_dp._types import Adjacency, Norm

_Array = TypeVar("_Array", bound=npt.NDArray[Any])


# Making one takes milliseconds; each is a few tables that never change.
@lru_cache(maxsize=64)
def _made(make: Callable[..., _library.Noise], *parameters: Any) -> tuple[_library.Noise, Event, float, float]:
    """The mechanism, its event, its scale and its step."""
    handle = make(*parameters)
    return handle, _event_of(handle.event()), *handle.scale_and_step()


def _array(name: str, values: object) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers, as an array") from None


class Noise:
    """A mechanism that adds noise. Made by ``GaussianNoise`` and its like; the last few made are kept, so that making one again is cheap.

    Any number of threads may use one. The bits are the operating system's, of each thread and after a fork of each process its own.
    """

    __slots__ = ("_handle", "_event", "_scale", "_step")

    _handle: _library.Noise
    _event: Event
    _scale: float
    _step: float

    def __init__(self) -> None:
        raise TypeError("a surety.Noise is made by GaussianNoise and its like")

    def _take(self, make: Callable[..., _library.Noise], *parameters: Any) -> None:
        self._handle, self._event, self._scale, self._step = _made(make, *parameters)

    @property
    def event(self) -> Event:
        """What one release is, for the accountants and the ledger."""
        return self._event

    @property
    def scale(self) -> float:
        """sigma of Gaussian noise, b of Laplace noise, in units of the data; of binomial and Skellam noise the standard deviation."""
        return self._scale

    @property
    def step(self) -> float:
        """The distance of the grid's points: 1 of noise on integers."""
        return self._step

    def add_to(self, values: npt.NDArray[Any]) -> None:
        """Releases an array in place: ``values`` become what may be published.

        Parameters
        ----------
        values : array
            float64, float32 (with a ``step``), or int64 for noise on integers; one block in C order, aligned and writable.

        Raises
        ------
        TypeError, ValueError
            The array is of another type, shape or layout. Nothing was changed.
        SystemFailure
            There are no random bits. What the array holds then must not be published.

        Notes
        -----
        No value is refused: NaN counts as 0, and a value outside 2^62 steps as the nearest one inside. That is right where each value is of one record. A sum that was
        computed elsewhere must have the sensitivity that was given, as it is computed: a sum that one record can make NaN or infinite has none, because all other
        records then count as 0, and a sum in float32 has another one than its formula. ``release_sum`` takes the rows instead.

        Examples
        --------
        >>> import numpy as np
        >>> import surety_dp as surety
        >>> counts = np.array([120, 80, 3])
        >>> surety.DiscreteLaplaceNoise(2, sensitivity=1, adjacency="add-or-remove-one").add_to(counts)
        >>> counts.shape
        (3,)
        """
        self._handle.add_to(_arguments.array("values", values))

    def release_sum(self, rows: npt.ArrayLike, *, clip: float) -> npt.NDArray[Any]:
        """Releases the sum of rows, each of which is one record.

        Parameters
        ----------
        rows : array_like
            Two dimensions; float64 or float32, or int64 for noise on integers. Rows are as long as the dimension of the noise.
        clip : float
            The largest norm of a row, in the norm of the noise. A longer row is scaled down, and rounded toward zero to the grid.

        Returns
        -------
        array
            The noisy sum, float64 or int64. One record moves the exact sum by at most ``clip``, or twice that under "replace-one".

        Raises
        ------
        InvalidArgument
            That is more than the sensitivity of the noise, or rows have another length. Never for a value: a row that is not finite counts as zero.
        TypeError
            Rows are of another type.

        Examples
        --------
        >>> import numpy as np
        >>> import surety_dp as surety
        >>> noise = surety.GaussianNoise(2, sensitivity=1, dimension=2, adjacency="add-or-remove-one")
        >>> rows = np.array([[0.5, 0.5], [3.0, 4.0], [np.nan, 1.0]])
        >>> noise.release_sum(rows, clip=1).shape  # of .5 + .6 + 0 and .5 + .8 + 0, and noise
        (2,)
        """
        rows, total = self._rows_and_sum(rows)
        self._handle.release_sum(rows, _arguments.real("clip", clip), total)
        return total

    def _rows_and_sum(self, rows: npt.ArrayLike) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The rows as the library takes them, and room for their sum."""
        array = _array("rows", rows)
        if array.ndim != 2:
            raise _arguments.invalid(f"rows have {array.ndim} dimensions, must have 2, with one row for each record")
        return np.ascontiguousarray(array), np.empty(array.shape[1], dtype=np.int64 if self._handle.is_on_integers() else np.float64)

    def fill(self, values: npt.NDArray[Any]) -> None:
        """Noise alone, in place: a release of zeros."""
        if not isinstance(values, (np.ndarray, memoryview)):
            raise _arguments.wrong_type("values", values, "an array")
        try:
            values[...] = 0
        except (TypeError, ValueError, NotImplementedError) as error:
            raise TypeError(f"values cannot be set to 0 ({error}), must be a writable array of float64, float32 or int64") from None
        self._handle.add_to(values)

    def release(self, values: _Array) -> _Array:
        """One release of a copy."""
        copy = np.array(_array("values", values), order="C", copy=True)
        self._handle.add_to(copy)
        return copy  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of scale {self._scale!r} on steps of {self._step!r}: {self._event}, {self._event.adjacency}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} does not pickle: its bits belong to its process; make one in the other from its parameters")


class GaussianNoise(Noise):
    """Gaussian noise for real numbers, which are rounded to a public grid first.

    Parameters
    ----------
    multiplier : float
        The standard deviation divided by the sensitivity.
    sensitivity : float
        How much one record moves the values, in l2 norm, as the machine computes them.
    dimension : int
        The number of values of a release. The noise is scaled to the sensitivity after rounding.
    adjacency : str
        Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out".
    step : float, optional
        The distance of the grid's points, a power of two. The default fits float64; float32 needs a coarser one, such as sigma / 4096.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    TypeError
        An argument has another type.

    Examples
    --------
    >>> import numpy as np
    >>> import surety_dp as surety
    >>> noise = surety.GaussianNoise(2, sensitivity=0.5, dimension=3, adjacency="replace-one")
    >>> means = np.array([0.1, 0.2, 0.3])
    >>> noise.add_to(means)
    >>> noise.event
    Event('gaussian(2)', 'replace-one')
    """

    __slots__ = ()

    def __init__(self, multiplier: float, *, sensitivity: float, dimension: int, adjacency: Adjacency, step: float | None = None) -> None:
        self._take(
            _library.gaussian_noise,
            _arguments.real("multiplier", multiplier),
            _arguments.real("sensitivity", sensitivity),
            _arguments.whole("dimension", dimension),
            _arguments.real_or_none("step", step),
            _arguments.text("adjacency", adjacency),
        )


class LaplaceNoise(Noise):
    """Laplace noise for real numbers, which are rounded to a public grid first.

    Parameters
    ----------
    scale : float
        The scale b divided by the sensitivity.
    sensitivity : float
        How much one record moves the values, in l1 norm, as the machine computes them.
    dimension : int
        The number of values of a release. The noise is scaled to the sensitivity after rounding.
    adjacency : str
        Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out".
    step : float, optional
        The distance of the grid's points, a power of two. The default fits float64; float32 needs a coarser one, such as sigma / 4096.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    TypeError
        An argument has another type.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.LaplaceNoise(10, sensitivity=1, dimension=1, adjacency="replace-one", step=2**-10)
    <LaplaceNoise of scale 10.009765625 on steps of 0.0009765625: laplace(10), replace-one>
    """

    __slots__ = ()

    def __init__(self, scale: float, *, sensitivity: float, dimension: int, adjacency: Adjacency, step: float | None = None) -> None:
        self._take(
            _library.laplace_noise,
            _arguments.real("scale", scale),
            _arguments.real("sensitivity", sensitivity),
            _arguments.whole("dimension", dimension),
            _arguments.real_or_none("step", step),
            _arguments.text("adjacency", adjacency),
        )


class KNormNoise(Noise):
    """Noise for a vector of density proportional to exp(-||x|| / b) in the norm "l1", "l2" or "linf". ``scale`` is b over the sensitivity in that
    norm: a pure epsilon of 1 / ``scale``. The rest is as of ``GaussianNoise``.

    >>> import surety_dp as surety
    >>> surety.KNormNoise(2, norm="l2", sensitivity=1, dimension=3, adjacency="replace-one").event
    Event('k_norm(l2, 3, 2)', 'replace-one')
    """

    __slots__ = ()

    def __init__(self, scale: float, *, norm: Norm, sensitivity: float, dimension: int, adjacency: Adjacency, step: float | None = None) -> None:
        self._take(
            _library.k_norm_noise,
            _arguments.real("scale", scale),
            _arguments.text("norm", norm),
            _arguments.real("sensitivity", sensitivity),
            _arguments.index("dimension", dimension),
            _arguments.real_or_none("step", step),
            _arguments.text("adjacency", adjacency),
        )


class GeneralizedGaussianNoise(Noise):
    """Noise for a vector of density proportional to exp(-||x||_r^2 / (2 sigma^2)), r from 2 to 2^20. ``multiplier`` is sigma over the sensitivity in
    l_r. The rest is as of ``GaussianNoise``.

    >>> import surety_dp as surety
    >>> surety.GeneralizedGaussianNoise(2, r=3, sensitivity=1, dimension=5, adjacency="replace-one").event
    Event('generalized_gaussian(3, 5, 2)', 'replace-one')
    """

    __slots__ = ()

    def __init__(
        self, multiplier: float, *, r: float, sensitivity: float, dimension: int, adjacency: Adjacency, step: float | None = None
    ) -> None:
        self._take(
            _library.generalized_gaussian_noise,
            _arguments.real("multiplier", multiplier),
            _arguments.real("r", r),
            _arguments.real("sensitivity", sensitivity),
            _arguments.index("dimension", dimension),
            _arguments.real_or_none("step", step),
            _arguments.text("adjacency", adjacency),
        )


class DiscreteGaussianNoise(Noise):
    """Discrete Gaussian noise for integers, of any number of values. ``sigma`` is in steps of the integers; the noise has the least that it can
    have from there on, which ``scale`` says. One record moves either one value by at most ``sensitivity``, or all of them by at most
    ``l2_sensitivity`` in l2 norm: one of both is given.

    >>> import numpy as np
    >>> import surety_dp as surety
    >>> noise = surety.DiscreteGaussianNoise(10, sensitivity=1, adjacency="add-or-remove-one")
    >>> counts = np.array([120, 80, 3])
    >>> noise.add_to(counts)
    >>> noise.event
    Event('discrete_gaussian(10, 1)', 'add-or-remove-one')
    """

    __slots__ = ()

    def __init__(self, sigma: float, *, sensitivity: int | None = None, l2_sensitivity: float | None = None, adjacency: Adjacency) -> None:
        if (sensitivity is None) == (l2_sensitivity is None):
            raise TypeError("one of sensitivity and l2_sensitivity must be given")
        width, relation = _arguments.real("sigma", sigma), _arguments.text("adjacency", adjacency)
        if sensitivity is not None:
            self._take(_library.discrete_gaussian_noise, width, _arguments.index("sensitivity", sensitivity), relation)
        elif l2_sensitivity is not None:
            self._take(_library.discrete_gaussian_noise_of_vectors, width, _arguments.real("l2_sensitivity", l2_sensitivity), relation)


class DiscreteLaplaceNoise(Noise):
    """Discrete Laplace noise for integers, of any number of values. ``scale`` is b in steps of the integers, ``sensitivity`` by how much one
    record moves the values in l1 norm, a whole number.

    >>> import surety_dp as surety
    >>> surety.DiscreteLaplaceNoise(2, sensitivity=1, adjacency="replace-one").event
    Event('discrete_laplace(2, 1)', 'replace-one')
    """

    __slots__ = ()

    def __init__(self, scale: float, *, sensitivity: float, adjacency: Adjacency) -> None:
        self._take(
            _library.discrete_laplace_noise,
            _arguments.real("scale", scale),
            _arguments.real("sensitivity", sensitivity),
            _arguments.text("adjacency", adjacency),
        )


class BinomialNoise(Noise):
    """Binomial noise for integers: the number of heads among ``flips`` fair coin flips minus ``flips`` / 2, exactly. ``flips`` is even, from 2 to
    2^52. One record moves one value by at most ``sensitivity``, a whole number. ``scale`` is the standard deviation, sqrt(``flips``) / 2.

    >>> import surety_dp as surety
    >>> surety.BinomialNoise(10000, sensitivity=1, adjacency="replace-one").event
    Event('binomial(10000, 1)', 'replace-one')
    """

    __slots__ = ()

    def __init__(self, flips: int, *, sensitivity: int, adjacency: Adjacency) -> None:
        self._take(
            _library.binomial_noise,
            _arguments.index("flips", flips),
            _arguments.index("sensitivity", sensitivity),
            _arguments.text("adjacency", adjacency),
        )


class SkellamNoise(Noise):
    """Skellam noise for integers: the difference of two independent Poisson variables of mean ``mean`` each, exactly. ``mean`` is greater than 0
    and at most 2^50. One record moves one value by at most ``sensitivity``, a whole number. ``scale`` is the standard deviation,
    sqrt(2 ``mean``).

    >>> import surety_dp as surety
    >>> surety.SkellamNoise(200, sensitivity=1, adjacency="replace-one")
    <SkellamNoise of scale 20.0 on steps of 1.0: skellam(200, 1), replace-one>
    """

    __slots__ = ()

    def __init__(self, mean: float, *, sensitivity: int, adjacency: Adjacency) -> None:
        self._take(
            _library.skellam_noise,
            _arguments.real("mean", mean),
            _arguments.index("sensitivity", sensitivity),
            _arguments.text("adjacency", adjacency),
        )


class TruncatedGeometricNoise(Noise):
    """Discrete Laplace noise whose results are kept from ``lowest`` to ``highest``, a public range: the best there is for a count. The rest is as of
    ``DiscreteLaplaceNoise``, and so is what it costs.

    >>> import numpy as np
    >>> import surety_dp as surety
    >>> counts = np.array([0, 3, 100])
    >>> surety.TruncatedGeometricNoise(5, sensitivity=1, lowest=0, highest=100, adjacency="replace-one").add_to(counts)
    >>> bool((counts >= 0).all() and (counts <= 100).all())
    True
    """

    __slots__ = ()

    def __init__(self, scale: float, *, sensitivity: float, lowest: int, highest: int, adjacency: Adjacency) -> None:
        self._take(
            _library.truncated_geometric_noise,
            _arguments.real("scale", scale),
            _arguments.real("sensitivity", sensitivity),
            _arguments.integer("lowest", lowest),
            _arguments.integer("highest", highest),
            _arguments.text("adjacency", adjacency),
        )


class SecureBits(np.random.BitGenerator):
    """The cryptographic bits that the noise is made of, as a bit generator of NumPy: for secret shuffles and batches.

    Not for noise: what NumPy makes of any bits, ``Generator.normal`` for one, is not the law of a proof in its last digits.

    >>> import numpy as np
    >>> import surety_dp as surety
    >>> generator = np.random.Generator(surety.SecureBits())
    >>> batch = generator.random(60000) < 0.01
    >>> sorted(generator.permutation(4).tolist())
    [0, 1, 2, 3]

    There is no seed and no state: each thread draws its own bits, and so does each process after a fork. It pickles as a new one. Where the
    operating system gives no entropy when a fresh seed is due, the process ends: NumPy cannot be told, and bits must not be predictable.
    """

    def __init__(self) -> None:
        super().__init__(SeedlessSeedSequence())  # type: ignore[arg-type]
        _library.draw_from_secure_bits(self.capsule)

    @property
    def state(self) -> NoReturn:
        """There is none to look at, or to go back to."""
        raise TypeError("secure bits have no state that could be read or set")

    @state.setter
    def state(self, value: object) -> NoReturn:
        raise TypeError("secure bits have no state that could be read or set")

    def spawn(self, n_children: int) -> list[SecureBits]:
        """Independent ones, as all are."""
        return [SecureBits() for _ in range(_arguments.whole("n_children", n_children))]

    def __reduce__(self) -> tuple[type[SecureBits], tuple[()]]:  # type: ignore[override]
        return SecureBits, ()
