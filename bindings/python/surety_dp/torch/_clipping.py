"""The exact sum of clipped gradients, in integers. Proof: docs/proofs/mechanisms.md#gradient-sum.

This module uses NumPy alone, in the calling thread: each operation is elementwise, in an order that the widths of the layers determine. Reductions of a library may
choose another order for another number of rows, and then one record would change the last digits of the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from surety_dp import _arguments

_Array = npt.NDArray[Any]

# float32 sums of this many integers of at most NORM are exact in every order: NORM * _ROWS = 2^24.
_ROWS = 16
# Columns that are processed at a time, so that a block stays in a cache.
_WIDTH = 2**13
_FOLDED = _WIDTH // 8


class IntegerSum:
    """The sum of the gradients of records, each of which is clipped and rounded to an integer vector of l2 norm at most ``NORM``.

    Parameters
    ----------
    widths : sequence of int
        How many numbers of a gradient each layer has, at most 2^31 together.
    clip : float
        The largest norm of a gradient, from 2^-30 to 2^30. It becomes ``NORM`` units: one unit is ``clip / NORM``.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.

    Notes
    -----
    The integer vector r of a record is a function of the record's numbers x alone. If every number is finite, r is x / unit times a factor of at most 1, rounded toward zero.
    Otherwise r is 0. Its norm is at most ``NORM`` by this proof. An operation of float32 errs by at
    most u = 2^-23, whatever the rounding mode:

    * The computed sum of squares S is at least (1 - u)^4 (1 - 2^-30) times the exact one, minus 2^-91 for underflow: each number is squared and added three times in float32, then
      at most 2^22 times in float64.
    * So N = sqrt(S (1 + 2^-19) + 2^-90) is at least the norm of x.
    * The factor is f = NORM / max(N, clip) (1 - 2^-21), rounded to float32, and each product is rounded to float32. So the products have norm at most
      NORM (1 - 2^-21) (1 + u)^2 (1 + 2^-49) < NORM. Rounding toward zero shortens.

    Gradients in float64, and gradients whose sum of squares is 2^100 or more, are first scaled by a power of two that their largest number determines.
    A number of a sum over n records is at most n NORM, below 2^53 for n up to 2^31. Source: docs/proofs/mechanisms.md#gradient-sum.

    Examples
    --------
    >>> import numpy as np
    >>> total = IntegerSum([2], clip=5)
    >>> total.add([np.array([[3.0, 4.0], [30.0, 40.0], [np.nan, 1.0]], np.float32)])
    >>> (total.values * total.unit).round(3).tolist()
    [6.0, 8.0]
    """

    NORM = 2**20

    __slots__ = ("_clip", "_widths", "_work", "values")

    values: npt.NDArray[np.int64]  #: the sum, in units

    def __init__(self, widths: Sequence[int], *, clip: float) -> None:
        self._widths = [_arguments.whole("an item of widths", width) for width in widths]
        self._clip = _arguments.number("clip", clip)
        if not 2.0**-30 <= self._clip <= 2.0**30:
            raise _arguments.invalid(f"clip is {self._clip!r}, must be from 2^-30 to 2^30")
        if sum(self._widths) > 2**31 or len(self._widths) > 2**20:
            raise _arguments.invalid(f"gradients have {sum(self._widths)} numbers in {len(self._widths)} layers, must have at most 2^31 in at most 2^20")
        self.values = np.zeros(sum(self._widths), np.int64)
        self._work = [np.empty((_ROWS, _WIDTH // part), np.float32) for part in (1, 2, 4, 8)]

    @property
    def unit(self) -> float:
        """The distance of the grid's points, in units of the gradients."""
        return self._clip / self.NORM

    def add(self, layers: Sequence[_Array]) -> None:
        """Adds the gradients of records.

        Parameters
        ----------
        layers : sequence of array
            For each layer an array of float32 or float64 with a row for each record; as wide as ``widths``.

        Raises
        ------
        InvalidArgument
            An array has another shape. Nothing was added. Never for a value.
        TypeError
            An array has another type.
        """
        count = len(layers[0]) if layers else 0
        for layer, width in zip(layers, self._widths, strict=True):
            if layer.dtype not in (np.float32, np.float64):
                raise TypeError(f"gradients are of {layer.dtype}, must be of float32 or float64")
            if layer.shape != (count, width):
                raise _arguments.invalid(f"gradients have the shape {layer.shape}, must have {(count, width)}")
        with np.errstate(all="ignore"):
            for begin in range(0, count, _ROWS):
                block = [layer[begin : begin + _ROWS] for layer in layers]
                if all(part.dtype == np.float32 for part in block):
                    self._add_block(block)
                else:
                    for row in range(len(block[0])):
                        self._add_scaled([part[row : row + 1] for part in block])

    def _add_block(self, block: list[_Array]) -> None:
        squares = self._squares(block)
        # No square has overflowed, neither to infinity nor, in another rounding mode, to the largest number. NaN is not below.
        ordinary = squares < 2.0**100
        self._accumulate(block, _factors(squares, self._clip), ordinary)
        for row in np.flatnonzero(~ordinary):
            self._add_scaled([part[row : row + 1] for part in block])

    def _add_scaled(self, row: list[_Array]) -> None:
        """One record whose numbers are large or of float64: by a power of two its largest number becomes at least 1/2 and less than 1."""
        largest = float(np.max([np.max(np.abs(part), initial=0.0) for part in row]))
        # Below 2^-100 each number is less than one unit.
        if not math.isfinite(largest) or largest < 2.0**-100:
            return
        exponent = math.frexp(largest)[1]
        scaled = [np.ldexp(part.astype(np.float64), -exponent).astype(np.float32) for part in row]
        self._accumulate(scaled, _factors(self._squares(scaled), math.ldexp(self._clip, -exponent)), np.ones(1, bool))

    def _squares(self, block: list[_Array]) -> npt.NDArray[np.float64]:
        """The sum of squares of each row, by additions of columns."""
        rows = len(block[0])
        partial = np.zeros((rows, _FOLDED))
        full, half, quarter, eighth = (work[:rows] for work in self._work)
        for part in block:
            for begin in range(0, part.shape[1], _WIDTH):
                piece = part[:, begin : begin + _WIDTH]
                width = piece.shape[1]
                folded = width // 8
                square = np.multiply(piece, piece, out=full[:, :width])
                if folded:
                    two = np.add(square[:, : 4 * folded], square[:, 4 * folded : 8 * folded], out=half[:, : 4 * folded])
                    four = np.add(two[:, : 2 * folded], two[:, 2 * folded :], out=quarter[:, : 2 * folded])
                    eight = np.add(four[:, :folded], four[:, folded:], out=eighth[:, :folded])
                    partial[:, :folded] += eight
                if width > 8 * folded:
                    partial[:, : width - 8 * folded] += square[:, 8 * folded :]
        while partial.shape[1] > 1:
            middle = partial.shape[1] // 2
            partial = partial[:, :middle] + partial[:, middle:]
        return partial[:, 0]

    def _accumulate(self, block: list[_Array], factors: npt.NDArray[np.float32], included: npt.NDArray[np.bool_]) -> None:
        """Adds the rows that are included, in units."""
        rows = len(block[0])
        work, sums, everything = self._work[0][:rows], np.empty(_WIDTH, np.float32), bool(included.all())
        offset = 0
        for part in block:
            for begin in range(0, part.shape[1], _WIDTH):
                piece = part[:, begin : begin + _WIDTH]
                width = piece.shape[1]
                integers = np.multiply(piece, factors[:, np.newaxis], out=work[:, :width])
                np.trunc(integers, out=integers)
                if not everything:
                    integers[~included] = 0
                total = np.add.reduce(integers, axis=0, out=sums[:width])
                self.values[offset : offset + width] += total.astype(np.int64)
                offset += width


def _factors(squares: npt.NDArray[np.float64], clip: float) -> npt.NDArray[np.float32]:
    """By what rows of these sums of squares are multiplied: into units, and to a norm of at most ``IntegerSum.NORM``."""
    norms = np.sqrt(squares * (1 + 2.0**-19) + 2.0**-90)
    factors: npt.NDArray[np.float32] = (IntegerSum.NORM / np.maximum(norms, clip) * (1 - 2.0**-21)).astype(np.float32)
    return factors
