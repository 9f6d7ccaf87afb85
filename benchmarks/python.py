"""What Python gets: samples per second in place, beside NumPy's own normal; the time to make a noise object the first time and again; and the time
of one epsilon, beside dp_accounting and prv_accountant where they are installed. All in processor seconds.

Run by hand, in an environment that has the wheel of build/python/dist: python benchmarks/python.py | scripts/result_page.py docs/results/python.md
makes that page."""

import datetime
import os
import re
import time
import warnings
from importlib import metadata, util

import numpy as np

import surety_dp as surety

warnings.simplefilter("ignore")

JOBS = [
    ("repeat(10000, poisson(0.01, gaussian(1)))", 1e-5),
    ("repeat(1000, poisson(0.001, gaussian(0.8)))", 1e-6),
    ("gaussian(1)", 1e-5),
    ("repeat(100, gaussian(20))", 1e-6),
    ("repeat(1000000, poisson(0.000001, gaussian(0.5)))", 1e-6),
    ("repeat(50, laplace(20))", 1e-6),
]


def surety_upper(text, delta):
    return surety.epsilon(text, delta=delta, adjacency="add-or-remove-one").upper


def pld_upper(text, delta):
    """dp_accounting's accountant of privacy-loss distributions, with its own settings."""
    from dp_accounting import dp_event, pld

    numbers = [float(number) for number in re.findall(r"[\d.]+", text)]
    noise = dp_event.LaplaceDpEvent(numbers[-1]) if "laplace" in text else dp_event.GaussianDpEvent(numbers[-1])
    event = dp_event.PoissonSampledDpEvent(numbers[1], noise) if "poisson" in text else noise
    return pld.PLDAccountant().compose(event, int(numbers[0]) if "repeat" in text else 1).get_epsilon(delta)


def prv_upper(text, delta):
    """prv_accountant's, which Opacus has too, within 0.01 of epsilon."""
    from prv_accountant import PRVAccountant
    from prv_accountant.privacy_random_variables import GaussianMechanism, LaplaceMechanism, PoissonSubsampledGaussianMechanism

    numbers = [float(number) for number in re.findall(r"[\d.]+", text)]
    numbers = numbers if "repeat" in text else [1.0, *numbers]
    steps = int(numbers[0])
    if "poisson" in text:
        variable = PoissonSubsampledGaussianMechanism(noise_multiplier=numbers[2], sampling_probability=numbers[1])
    else:
        variable = LaplaceMechanism(mu=1 / numbers[1]) if "laplace" in text else GaussianMechanism(noise_multiplier=numbers[1])
    accountant = PRVAccountant(prvs=[variable], max_self_compositions=[steps], eps_error=0.01, delta_error=delta / 1000)
    return accountant.compute_epsilon(delta=delta, num_self_compositions=[steps])[2]


def processor():
    with open("/proc/cpuinfo") as lines:
        return next((line.split(": ")[1].strip() for line in lines if line.startswith("model name")), "an unknown processor")


def accountants():
    peers = [("Surety", surety_upper)]
    if util.find_spec("dp_accounting"):
        peers.append((f"dp_accounting {metadata.version('dp-accounting')}, PLD", pld_upper))
    if util.find_spec("prv_accountant"):
        peers.append((f"prv_accountant {metadata.version('prv-accountant')}", prv_upper))
    print("\n## One epsilon\n\nAdd-or-remove-one; the upper bound, rounded up to six digits, and the least of three times without imports.\n")
    print("| event | delta |" + "".join(f" {name} |" for name, _ in peers) + "\n|---|---|" + "---|" * len(peers))
    for text, delta in JOBS:
        cells = []
        for _, upper in peers:
            upper("repeat(2, gaussian(3))", 1e-3)
            begin = time.process_time()
            value = upper(text, delta)
            repetitions = max(1, int(0.02 / max(time.process_time() - begin, 1e-6)))
            times = []
            for _ in range(3):
                begin = time.process_time()
                for _ in range(repetitions):
                    upper(text, delta)
                times.append((time.process_time() - begin) / repetitions)
            cells.append(f" {np.ceil(value * 1e6) / 1e6:.6f} in {1e3 * min(times):.3g} ms |")
        print(f"| `{text}` | {delta} |" + "".join(cells))
    epsilons = np.linspace(0, 8, 1000)
    print("\ndelta at 1,000 epsilons: " + ", ".join(f"{1e3 * best_time(lambda text=text: surety.curve(text, epsilons, adjacency='add-or-remove-one'), 2):.2g} ms for `{text}`"
                                                   for text in (JOBS[0][0], "gaussian(1)")) + ".")


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
    print("# Python: samples and answers per second\n")
    print(f"Made by `benchmarks/python.py` on {datetime.date.today()}: {processor()}, {os.cpu_count()} processors, NumPy {np.__version__}. Processor seconds.\n")
    print("## Noise in place\n")

    def make():
        return surety.GaussianNoise(3.25, sensitivity=1, dimension=10, adjacency="replace-one")

    begin = time.process_time()
    make()
    first = time.process_time() - begin
    print(f"A noise object takes {1e3 * first:.1f} ms the first time, then {1e6 * best_time(make, 1000):.1f} microseconds.\n")
    print(r'<!-- csv {"file": "python-noise", "keep": "\\| 1000000 \\|"} -->')
    print("| case | values a call | million a second |\n|---|---|---|")
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
    accountants()


if __name__ == "__main__":
    main()
