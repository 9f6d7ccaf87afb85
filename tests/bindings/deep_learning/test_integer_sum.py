"""The exact sum of clipped gradients: norms are compared in Python's integers, which do not round. scripts/python torch runs this."""

from __future__ import annotations

import ctypes
import math
import platform
from typing import Any

import numpy as np
import pytest

from surety_dp.torch import IntegerSum, _clipping

CLIP = 0.7
# Edges of blocks, of folds and of layers.
WIDTHS = [(1,), (7,), (8,), (9,), (3, 5), (8191,), (8192,), (8193,), (8192 + 5, 1, 17), (1, 20000)]
HOSTILE = [
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    -1e308,
    5e-324,
    2.2e-308,
    1e-45,
    1.1754943e-38,
    3.4028235e38,
    1.8446743e19,  # its square is the largest in float32
    1.8446745e19,
    2.0**-100,
    2.0**-75,
    CLIP,
    math.nextafter(CLIP, 0),
    math.nextafter(CLIP, 1),
    -0.0,
]


def sum_of(rows: np.ndarray[Any, Any], widths: tuple[int, ...], clip: float = CLIP) -> list[int]:
    total = IntegerSum(widths, clip=clip)
    edges = np.cumsum((0, *widths))
    total.add([np.ascontiguousarray(rows[:, begin:end]) for begin, end in zip(edges, edges[1:])])
    return [int(value) for value in total.values]


def square(vector: list[int]) -> int:
    return sum(value * value for value in vector)


def rows_of(width: int, count: int, seed: int) -> np.ndarray[Any, Any]:
    """Rows of many norms and shapes: dense, with few large numbers, near the clip, far above it, far below it."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((count, width)) * np.exp(random.uniform(-3, 3, (count, width)) * random.integers(0, 4, (count, 1)))
    norms = np.sqrt((rows**2).sum(1))
    wanted = np.array([CLIP, CLIP * (1 - 1e-7), CLIP * (1 + 1e-7), CLIP / 3, 1e-6, 1e3, 1e15, 1e25])
    scaled: np.ndarray[Any, Any] = rows / norms[:, None] * wanted[np.arange(count) % len(wanted)][:, None]
    return scaled


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("widths", WIDTHS)
def test_no_row_is_longer_than_the_norm_and_none_is_much_shorter(widths: tuple[int, ...], dtype: Any) -> None:
    width, longest = sum(widths), 0.0
    for row in rows_of(width, 40, 1).astype(dtype):
        found = sum_of(row[None], widths)
        assert square(found) <= IntegerSum.NORM**2
        norm = math.sqrt(square(found))
        wanted = min(1.0, math.sqrt(math.fsum(float(x) ** 2 for x in row)) / CLIP) * IntegerSum.NORM
        assert wanted * (1 - 2.0**-18) - math.sqrt(width) - 1 <= norm
        longest = max(longest, norm)
    assert longest > IntegerSum.NORM * (1 - 2.0**-18) - math.sqrt(width) - 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_rows(value: float, dtype: Any) -> None:
    with np.errstate(over="ignore"):
        cell = dtype(value)
    for width in (1, 3, 9000):
        one, everywhere = np.zeros((1, width), dtype), np.full((1, width), cell)
        one[0, width // 2] = cell
        for row in (one, everywhere, one + dtype(0.3)):
            found = sum_of(row, (width,))
            assert square(found) <= IntegerSum.NORM**2
            if not np.isfinite(row).all():
                assert not any(found)


def test_finite_rows_of_any_size_are_clipped_and_not_dropped() -> None:
    for value, dtype in ((1e308, np.float64), (3e38, np.float32), (1e19, np.float32), (1e200, np.float64)):
        found = sum_of(np.array([[value, -value, 0]], dtype), (3,))
        assert found[2] == 0 and found[0] == -found[1] > 0.7071 * IntegerSum.NORM
    assert sum_of(np.array([[5e-324, 1e-300]]), (2,)) == [0, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("widths", [(3, 5), (8192 + 5, 1, 17)])
def test_a_row_counts_the_same_in_every_batch(widths: tuple[int, ...], dtype: Any) -> None:
    """The sum is that of the rows by themselves, to the last digit: so one record moves it by its own row."""
    width = sum(widths)
    rows = rows_of(width, 53, 2).astype(dtype)
    for place, value in zip(range(3, 50, 4), HOSTILE):
        with np.errstate(over="ignore"):
            rows[place, place % width] = value
    alone = [sum_of(row[None], widths) for row in rows]
    order = np.random.default_rng(3).permutation(len(rows))
    for chosen in (range(len(rows)), range(1, len(rows)), range(15), range(16), range(17), order, order[1:]):
        chosen = list(chosen)
        assert sum_of(rows[chosen], widths) == [sum(column) for column in zip(*(alone[i] for i in chosen))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", HOSTILE)
def test_neighbouring_batches_differ_by_at_most_the_norm(value: float, dtype: Any) -> None:
    rows = rows_of(300, 40, 4).astype(dtype)
    with np.errstate(over="ignore"):
        rows[7, ::3] = value
    without = sum_of(np.delete(rows, 7, axis=0), (300,))
    moved = [a - b for a, b in zip(sum_of(rows, (300,)), without)]
    assert square(moved) <= IntegerSum.NORM**2
    zeroed = rows.copy()
    zeroed[7] = 0
    assert sum_of(zeroed, (300,)) == without


def test_sums_of_large_integers_are_exact() -> None:
    """Many rows with all of their norm in one number, and odd: float32 holds no odd integer above 2^24."""
    rows = np.zeros((1000, 3), np.float32)
    rows[:, 1] = np.random.default_rng(5).uniform(0.9, 1, 1000).astype(np.float32) * CLIP
    alone = [sum_of(row[None], (3,))[1] for row in rows]
    assert sum(value % 2 for value in alone) > 300
    assert sum_of(rows, (3,)) == [0, sum(alone), 0]


def test_batches_of_no_record_and_models_of_no_number() -> None:
    assert sum_of(np.empty((0, 3), np.float32), (3,)) == [0, 0, 0]
    assert sum_of(np.empty((2, 0), np.float32), (0,)) == []
    assert sum_of(np.ones((2, 1), np.float32), (0, 1, 0)) == [2 * sum_of(np.ones((1, 1), np.float32), (1,))[0]]


def test_refusals() -> None:
    total = IntegerSum([2, 1], clip=1)
    for layers in ([np.zeros((1, 3), np.float32), np.zeros((1, 1), np.float32)], [np.zeros((1, 2), np.float32), np.zeros((2, 1), np.float32)]):
        with pytest.raises(ValueError, match="must have"):
            total.add(layers)
    with pytest.raises(TypeError, match="float16"):
        total.add([np.zeros((1, 2), np.float16), np.zeros((1, 1), np.float32)])
    assert not total.values.any()
    for clip in (0.0, 2.0**-31, 2.0**31, math.inf, math.nan, -1.0):
        with pytest.raises(ValueError, match="clip is"):
            IntegerSum([2], clip=clip)
    with pytest.raises(ValueError, match="at most 2\\^31"):
        IntegerSum([2**31, 1], clip=1)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of rounding modes are those of x86-64")
@pytest.mark.parametrize("mode", [0x400, 0x800, 0xC00], ids=["down", "up", "toward zero"])
def test_every_rounding_mode(mode: int) -> None:
    """Another library of the process may leave one behind."""
    library = ctypes.CDLL("libm.so.6")
    for widths in ((1,), (9,), (8192 + 5, 1, 17)):
        rows = np.concatenate([rows_of(sum(widths), 24, 1), np.full((1, sum(widths)), 1e25), np.full((1, sum(widths)), 3e38)]).astype(np.float32)
        for row in rows:
            assert library.fesetround(mode) == 0
            try:
                found = sum_of(row[None], widths)
            finally:
                library.fesetround(0)
            assert square(found) <= IntegerSum.NORM**2


# Defects that the tests above must see.


def _with(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> None:
    for name, value in changed.items():
        monkeypatch.setattr(_clipping, name, value)


def test_sees_sums_that_round(monkeypatch: pytest.MonkeyPatch) -> None:
    _with(monkeypatch, _ROWS=64)
    with pytest.raises(AssertionError):
        test_sums_of_large_integers_are_exact()


def test_sees_a_factor_that_is_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(squares: Any, clip: float) -> Any:
        return (IntegerSum.NORM / np.maximum(np.sqrt(squares), clip) * (1 + 2.0**-19)).astype(np.float32)

    _with(monkeypatch, _factors=too_large)
    with pytest.raises(AssertionError):
        for widths in WIDTHS:
            test_no_row_is_longer_than_the_norm_and_none_is_much_shorter(widths, np.float32)


def test_sees_squares_that_overflow_to_the_largest_number(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = IntegerSum._squares
    monkeypatch.setattr(IntegerSum, "_squares", lambda self, block: np.where(np.isfinite(theirs(self, block)), np.minimum(theirs(self, block), 2.0**99), np.nan))
    with pytest.raises(AssertionError):
        test_every_rounding_mode(0x400)


def test_sees_norms_that_depend_on_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    def squares(self: Any, block: list[Any]) -> Any:
        everything = np.concatenate(block, axis=1)
        return np.add.reduce((everything * everything)[:, :: 1 if len(everything) > 3 else -1], axis=1, dtype=np.float32).astype(np.float64)

    monkeypatch.setattr(IntegerSum, "_squares", squares)
    with pytest.raises(AssertionError):
        test_a_row_counts_the_same_in_every_batch((8192 + 5, 1, 17), np.float32)


def test_sees_rows_that_are_not_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = IntegerSum._accumulate
    monkeypatch.setattr(IntegerSum, "_accumulate", lambda self, block, factors, included: theirs(self, block, factors, np.ones_like(included)))
    with pytest.raises(AssertionError):
        for value in (math.nan, math.inf):
            test_neighbouring_batches_differ_by_at_most_the_norm(value, np.float32)
