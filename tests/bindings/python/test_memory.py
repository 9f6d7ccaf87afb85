"""Memory that runs out: MemoryError, an answer, or one line and exit code 5, and whole ledgers. Never an abort."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import surety_dp as surety
from surety_dp import _library

HERE = Path(__file__).parent
PACKAGE = Path(surety.__file__).parent
MODULE = Path(_library.__file__)
# No allocation is served where GMP's default functions are, and blocks of GMP lie anywhere: what they are is all that can be seen from outside.
FUNCTIONS = """
import ctypes, sys
def functions(gmp):
    found = [ctypes.c_void_p() for _ in range(3)]
    gmp.__gmp_get_memory_functions(*(ctypes.byref(one) for one in found))
    return [one.value for one in found]
gmp = ctypes.CDLL(sys.argv[1])
before = functions(gmp)
import surety_dp as surety
print(functions(gmp) == before)
"""


def library(name: str) -> Path:
    """What the module is linked to."""
    for line in subprocess.run(["ldd", MODULE], check=True, capture_output=True, text=True).stdout.splitlines():
        if line.strip().startswith(name) and " => " in line:
            return Path(line.split(" => ")[1].split(" (")[0])
    raise AssertionError(f"{MODULE} is not linked to {name}")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the package has libraries of its own: the installed wheel, or a copy beside which they lie."""
    if library("libgmp").resolve().parent.name == "surety_dp.libs":
        return {**os.environ}
    folder = tmp_path_factory.mktemp("own")
    shutil.copytree(PACKAGE, folder / "surety_dp", symlinks=False)
    for name in ("libgmp.so", "libcrypto.so"):
        shutil.copy(library(name), folder / "surety_dp" / library(name).name)
    return {**os.environ, "PYTHONPATH": str(folder), "LD_LIBRARY_PATH": str(folder / "surety_dp")}


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("faults") / "libfaults.so"
    source = HERE.parents[1] / "faults" / "faults.cpp"
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-shared", "-fPIC", "-o", made, source, "-ldl"], check=True)
    return made


def test_memory_that_runs_out_is_an_exception(own: dict[str, str], faults: Path, tmp_path: Path) -> None:
    """SURETY_STARVED=300,300,60 tries more places."""
    most = os.environ.get("SURETY_STARVED", "16,8,4").split(",")
    done = subprocess.run(
        [sys.executable, HERE / "starved.py", tmp_path, *most], env={**own, "LD_PRELOAD": str(faults)}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    ends = json.loads(done.stdout)
    print({end: len(places) for end, places in ends.items()})
    allowed = {"answer", "MemoryError", "SuretyError", "a line and exit 5"}
    assert not ends.keys() - allowed, {end: places for end, places in ends.items() if end not in allowed}
    assert len(ends["MemoryError"]) > sum(map(len, ends.values())) // 2


def test_only_its_own_gmp_is_changed(own: dict[str, str]) -> None:
    def is_unchanged(gmp: Path, environment: dict[str, str]) -> str:
        done = subprocess.run([sys.executable, "-c", FUNCTIONS, gmp], env=environment, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.strip()

    gmp = library("libgmp")
    if gmp.resolve().parent.name == "surety_dp.libs":
        assert is_unchanged(gmp, own) == "False"
    else:
        assert is_unchanged(Path(own["LD_LIBRARY_PATH"]) / gmp.name, own) == "False"
        assert is_unchanged(gmp, {**os.environ}) == "True"
