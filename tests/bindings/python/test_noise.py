"""Noise on arrays: what it changes, what it refuses, and that it is the law it says."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import surety_dp as surety


def gaussian(dimension: int, *, multiplier: float = 1.0, step: float | None = None) -> surety.GaussianNoise:
    return surety.GaussianNoise(multiplier, sensitivity=1.0, dimension=dimension, adjacency="replace-one", step=step)


def test_arrays_are_filled_and_added_to_in_place() -> None:
    many = 200_000
    kinds: list[tuple[surety.Noise, npt.DTypeLike, float]] = [
        (gaussian(many), np.float64, 1.0),
        (gaussian(many, step=2.0**-12), np.float32, 1.0),
        (surety.LaplaceNoise(1, sensitivity=1, dimension=many, adjacency="zero-out", step=2.0**-20), np.float64, math.sqrt(2)),
        (surety.DiscreteGaussianNoise(30, sensitivity=1, adjacency="replace-one"), np.int64, 30),
        (surety.DiscreteGaussianNoise(30, l2_sensitivity=1, adjacency="replace-one"), np.int64, 30),
        (surety.DiscreteLaplaceNoise(30, sensitivity=1, adjacency="replace-one"), np.int64, 30 * math.sqrt(2)),
        (surety.BinomialNoise(3600, sensitivity=1, adjacency="replace-one"), np.int64, 30),
        (surety.SkellamNoise(450, sensitivity=1, adjacency="replace-one"), np.int64, 30),
    ]
    for noise, dtype, deviation in kinds:
        values = np.full(many, 1000, dtype)
        noise.fill(values)
        # The law itself is tested in C++; a doubled or missing noise would be seen here.
        deviation *= noise.scale / (30 if dtype is np.int64 else 1)
        assert abs(values.mean()) < 6 * deviation / math.sqrt(many)
        assert abs(values.std() / deviation - 1) < 0.03
        base = (np.arange(many) % 1000).astype(dtype).reshape(20, -1)
        noise.add_to(base)
        assert base.dtype == dtype
        residue = base.reshape(-1) - np.arange(many) % 1000
        assert abs(residue.std() / deviation - 1) < 0.03
        kept = np.zeros(many, dtype)
        released = noise.release(kept)
        assert not kept.any() and released.any() and released.dtype == dtype
        assert np.array_equal(values / noise.step, np.rint(values / noise.step))


def test_making_noise_again_is_cheap_and_shares_tables() -> None:
    assert gaussian(7)._handle is gaussian(7)._handle
    assert gaussian(7)._handle is not gaussian(8)._handle


def test_events_are_those_of_the_noise() -> None:
    assert gaussian(3, multiplier=2.5).event == surety.Event("gaussian(2.5)", "replace-one")
    assert surety.DiscreteGaussianNoise(3, l2_sensitivity=6, adjacency="zero-out").event == surety.Event("zcdp(2)", "zero-out")
    assert surety.DiscreteLaplaceNoise(4, sensitivity=3, adjacency="zero-out").event.text == "discrete_laplace(4, 3)"
    assert surety.BinomialNoise(100, sensitivity=3, adjacency="zero-out").event.text == "binomial(100, 3)"
    assert surety.SkellamNoise(2.5, sensitivity=3, adjacency="zero-out").event.text == "skellam(2.5, 3)"


def test_binomial_and_skellam_refuse_what_names_no_noise() -> None:
    for flips in [0, 7, -2, 2**52 + 2, 2**64]:
        with pytest.raises((ValueError, OverflowError), match="flips"):
            surety.BinomialNoise(flips, sensitivity=1, adjacency="zero-out")
    for mean in [0.0, -1.0, math.nan, math.inf, 1e300]:
        with pytest.raises(ValueError, match="mean"):
            surety.SkellamNoise(mean, sensitivity=1, adjacency="zero-out")
    for noise in [surety.BinomialNoise, surety.SkellamNoise]:
        with pytest.raises(ValueError, match="sensitivity"):
            noise(100, sensitivity=0, adjacency="zero-out")


def test_vectors_and_counts_in_a_range_have_their_laws() -> None:
    values = np.zeros(100_000)
    surety.KNormNoise(1, norm="linf", sensitivity=1, dimension=values.size, adjacency="replace-one").add_to(values)
    # Of a radius that is Gamma(dimension + 1), uniform in the cube.
    assert abs(np.abs(values).max() / values.size - 1) < 0.02 and abs(values.std() * math.sqrt(3) / values.size - 1) < 0.02
    values.fill(0)
    surety.GeneralizedGaussianNoise(2, r=2, sensitivity=1, dimension=values.size, adjacency="replace-one", step=2.0**-20).add_to(values)
    assert abs(values.std() / 2 - 1) < 0.03
    counts = np.full(10_000, 7)
    surety.TruncatedGeometricNoise(3, sensitivity=1, lowest=0, highest=9, adjacency="replace-one").add_to(counts)
    assert set(counts.tolist()) == set(range(10))
    with pytest.raises(ValueError, match="norm"):
        surety.KNormNoise(1, norm="l3", sensitivity=1, dimension=2, adjacency="replace-one")  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        surety.TruncatedGeometricNoise(3, sensitivity=1, lowest=9, highest=0, adjacency="replace-one")


def test_values_are_never_refused() -> None:
    odd = np.array([math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.0])
    values = odd.copy()
    gaussian(6, step=2.0**-20).add_to(values)
    assert np.isfinite(values).all()
    assert abs(values[0]) < 10 and abs(values[3]) < 10 and values[1] > 1e12 and values[2] < -1e12
    floats = odd.astype(np.float32)
    gaussian(6, step=2.0**-12).add_to(floats)
    assert np.isfinite(floats).all()
    assert floats[1] == 2.0**12 and floats[2] == -(2.0**12)
    whole = np.array([2**63 - 1, -(2**63), 0])
    surety.DiscreteLaplaceNoise(2, sensitivity=1, adjacency="replace-one").add_to(whole)
    assert whole[0] > 2**61 and whole[1] < -(2**61)


def test_arrays_that_do_not_fit_are_refused() -> None:
    noise = gaussian(4)
    whole = surety.DiscreteGaussianNoise(3, sensitivity=1, adjacency="replace-one")
    read_only = np.zeros(4)
    read_only.flags.writeable = False
    swapped = np.zeros(4, ">f8")
    misaligned = np.frombuffer(bytearray(33), np.uint8)[1:].view(np.float64)
    wrong: list[tuple[Any, type[Exception]]] = [
        (read_only, ValueError),
        (np.zeros(8)[::2], ValueError),
        (np.zeros((2, 2), order="F"), ValueError),
        (swapped, TypeError),
        (misaligned, TypeError),
        (np.zeros(4, np.float16), TypeError),
        (np.zeros(4, np.complex128), TypeError),
        (np.zeros(4, object), TypeError),
        (np.zeros(4, "M8[s]"), ValueError),
        (np.zeros(4, [("a", float)]), TypeError),
        (np.zeros(4, np.int64), TypeError),
        (np.zeros(4, np.int32), TypeError),
        ([0.0] * 4, TypeError),
        (None, TypeError),
        (b"01234567" * 4, BufferError),
        (bytearray(32), TypeError),
        (np.zeros(3), ValueError),
        (np.zeros(0), ValueError),
        (np.zeros(4, np.float32), ValueError),
    ]
    for values, kind in wrong:
        before = copy.deepcopy(values)
        with pytest.raises(kind):
            noise.add_to(values)
        assert np.array_equal(np.asarray(values), np.asarray(before)), values
    other: Any
    for other in [np.zeros(4), np.zeros(4, np.int32), np.zeros(4, np.uint64), np.zeros(4, ">i8")]:
        with pytest.raises(TypeError):
            whole.add_to(other)
    whole.add_to(np.zeros(0, np.int64))


def test_parameters_that_break_their_constraint_are_refused() -> None:
    for wrong in [0.0, -1.0, math.nan, math.inf]:
        with pytest.raises(ValueError):
            gaussian(3, multiplier=wrong)
        with pytest.raises(ValueError):
            surety.DiscreteLaplaceNoise(wrong, sensitivity=1, adjacency="replace-one")
        with pytest.raises(ValueError):
            gaussian(3, step=wrong)
    with pytest.raises(ValueError, match="power of two"):
        gaussian(3, step=0.3)
    with pytest.raises(ValueError, match="dimension is -3"):
        gaussian(-3)
    with pytest.raises(ValueError, match="whole number"):
        surety.DiscreteGaussianNoise(1, sensitivity=-1, adjacency="replace-one")
    with pytest.raises(TypeError):
        surety.DiscreteGaussianNoise(1, adjacency="replace-one")
    with pytest.raises(ValueError, match="adjacency"):
        surety.DiscreteGaussianNoise(1, sensitivity=1, adjacency="neighbours")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        surety.Noise()


def test_noise_does_not_pickle() -> None:
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="does not pickle"):
            attempt(gaussian(3))


def test_threads_draw_independently() -> None:
    noise = gaussian(1000)
    drawn: list[npt.NDArray[np.float64]] = [np.zeros(1000) for _ in range(8)]

    def work(values: npt.NDArray[np.float64]) -> None:
        for _ in range(50):
            noise.fill(values)

    threads = [threading.Thread(target=work, args=(values,)) for values in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({values.tobytes() for values in drawn}) == 8
    assert np.abs(np.corrcoef(drawn) - np.eye(8)).max() < 0.25


def test_secure_bits_serve_numpy() -> None:
    bits = surety.SecureBits()
    assert isinstance(bits, np.random.BitGenerator)
    generator = np.random.Generator(bits)
    assert sorted(generator.permutation(1000)) == list(range(1000))
    uniform = generator.random(200_000)
    assert 0 <= uniform.min() and uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.005
    counts = np.bincount(generator.integers(0, 16, 160_000, dtype=np.uint32), minlength=16)
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 60
    counts = np.bincount(bits.random_raw(160_000) >> np.uint64(60), minlength=16)
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 60
    assert bits.random_raw() != bits.random_raw()
    assert len({one.random_raw() for one in [bits, *bits.spawn(3), copy.deepcopy(bits), pickle.loads(pickle.dumps(bits))]}) == 6
    with bits.lock:
        pass
    with pytest.raises(TypeError):
        bits.state
    with pytest.raises(TypeError):
        bits.state = {}
    with pytest.raises((TypeError, ValueError)):
        surety._library.draw_from_secure_bits(object())


@pytest.mark.parametrize("bad", [0.0, 1e30, math.inf, -math.inf, math.nan])
def test_no_row_erases_the_others(bad: float) -> None:
    noises: list[surety.Noise] = [
        surety.GaussianNoise(2**-9, sensitivity=1, dimension=2, adjacency="zero-out"),
        surety.LaplaceNoise(2**-9, sensitivity=1, dimension=2, adjacency="zero-out"),
        surety.KNormNoise(2**-9, norm="linf", sensitivity=1, dimension=2, adjacency="zero-out"),
        surety.GeneralizedGaussianNoise(2**-9, r=3, sensitivity=1, dimension=2, adjacency="zero-out"),
    ]
    rows = np.concatenate([np.tile([0.0, 1.0], (100, 1)), [[bad, 0.0]]])
    for noise in noises:
        for given in (rows, np.asfortranarray(rows), rows.astype(np.float32)):
            released = noise.release_sum(given, clip=1)
            assert released.dtype == np.float64
            assert released[1] == pytest.approx(100, abs=0.5)
            assert released[0] == pytest.approx(1 if bad == 1e30 else 0, abs=0.5)
        assert noise.release_sum(np.zeros((0, 2)), clip=0.5) == pytest.approx(0, abs=0.5)


def test_integers_are_summed_as_integers() -> None:
    noise = surety.DiscreteLaplaceNoise(0.1, sensitivity=10, adjacency="zero-out")
    rows = np.array([[3, 4], [np.iinfo(np.int64).min, 0]])
    rows.flags.writeable = False
    released = noise.release_sum(rows, clip=10)
    assert released.dtype == np.int64
    assert released[0] == pytest.approx(-7, abs=3) and released[1] == pytest.approx(4, abs=3)
    with pytest.raises(TypeError, match="int64"):
        noise.release_sum(rows.astype(np.float64), clip=10)
    along_one = surety.DiscreteGaussianNoise(3, sensitivity=5, adjacency="zero-out")
    assert along_one.release_sum(np.ones((10, 1), dtype=np.int64), clip=5).shape == (1,)
    with pytest.raises(ValueError, match="must have 1"):
        along_one.release_sum(rows, clip=5)
