"""Samples per second that Python gets, in place, of float64, float32 and int64 arrays, and of NumPy's own normal beside it; and the time to make a
noise object the first time and again. Run by hand, on a quiet machine, with the installed package: build/python/venv/bin/python benchmarks/python.py"""

import time

import numpy as np

import surety


def best_time(work, repetitions):
    """Processor seconds of one call: the least of seven."""
    times = []
    for _ in range(7):
        begin = time.process_time()
        for _ in range(repetitions):
            work()
        times.append((time.process_time() - begin) / repetitions)
    return min(times)


def main():
    def make():
        return surety.GaussianNoise(3.25, sensitivity=1, dimension=10, adjacency="replace-one")

    begin = time.process_time()
    make()
    first = time.process_time() - begin
    print(f"a noise object: {1e3 * first:.2f} ms at first, {1e6 * best_time(make, 1000):.1f} microseconds again\n")
    print("| case | values | million a second |\n|---|---|---|")
    numpys = np.random.default_rng()
    secure = np.random.Generator(surety.SecureBits())
    for size, repetitions in [(1024, 2000), (1_000_000, 5)]:
        about = {"sensitivity": 1, "dimension": size, "adjacency": "replace-one"}
        float64, float32, int64 = np.zeros(size), np.zeros(size, np.float32), np.zeros(size, np.int64)
        gaussian = surety.GaussianNoise(1, **about)
        coarse = surety.GaussianNoise(1, step=2.0**-12, **about)
        laplace = surety.LaplaceNoise(1, step=2.0**-20, **about)
        discrete = surety.DiscreteGaussianNoise(10, sensitivity=1, adjacency="replace-one")
        cases = {
            "gaussian float64": lambda: gaussian.add_to(float64),
            "gaussian float32": lambda: coarse.add_to(float32),
            "laplace float64": lambda: laplace.add_to(float64),
            "discrete gaussian int64": lambda: discrete.add_to(int64),
            "insecure: NumPy's normal, PCG64, float64": lambda: numpys.standard_normal(out=float64),
            "NumPy's normal of SecureBits, float64 (not for noise)": lambda: secure.standard_normal(out=float64),
        }
        for name, work in cases.items():
            print(f"| {name} | {size} | {size / best_time(work, repetitions) / 1e6:.0f} |")


if __name__ == "__main__":
    main()
