"""`pip install .` of the source tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGES = {"Boost": "libboost-dev", "MPFR": "libmpfr-dev", "Zstd": "libzstd-dev", "Eigen3": "libeigen3-dev"}


def test_what_is_missing_is_named_in_one_line(tmp_path: Path) -> None:
    """By the names that Debian has, before anything is compiled; pip shows it as CMake says it."""
    hidden = [f"--config-settings=cmake.define.CMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in PACKAGES]
    command = [sys.executable, "-m", "pip", "wheel", "--no-index", "--no-build-isolation", "--no-deps", "--wheel-dir", str(tmp_path), *hidden, str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
    said = [line for line in lines if "install" in line and "Debian" in line]
    assert done.returncode != 0 and not any(tmp_path.iterdir())
    assert said == [f"Surety needs what is not installed; on Debian: apt install {' '.join(PACKAGES.values())}"]
