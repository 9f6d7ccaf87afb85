"""`pip install .` of the source tree."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from packaging.licenses import canonicalize_license_expression

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


def test_the_wheel_has_no_module_of_the_other_project() -> None:
    """Another distribution owns the name ``surety`` and its module: installing ours must not overwrite it."""
    files = importlib.metadata.files("surety-dp")
    assert files is not None
    tops = {file.parts[0] for file in files}
    assert {"surety_dp"} <= tops and all(top.startswith("surety_dp") for top in tops)
    metadata = importlib.metadata.metadata("surety-dp")
    assert metadata["Name"] == "surety-dp" and metadata["Keywords"]


#: Packages of the compiler, of the C library and of the kernel, and zlib, which the wheel takes from the system as manylinux allows.
OF_THE_SYSTEM = {"gcc-12", "glibc", "linux", "zlib"}


def said_by(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def sources_of(paths: set[str]) -> set[str]:
    """The Debian source packages of files, which Debian may know by a path before /lib became /usr/lib."""
    known = paths | {path.removeprefix("/usr") for path in paths}
    found = subprocess.run(["dpkg-query", "--search", *sorted(known)], check=False, capture_output=True, text=True).stdout
    packages = {line.split(":")[0] for line in found.splitlines()}
    return {said_by("dpkg-query", "--show", "--showformat=${source:Package}", package) for package in packages}


@pytest.fixture(scope="module")
def listing() -> dict[str, Any]:
    """By the name of each component of the wheel its entry."""
    files = importlib.metadata.files("surety-dp")
    assert files is not None
    (sbom,) = [file for file in files if file.name.endswith(".cdx.json")]
    return {component["name"]: component for component in json.loads(sbom.read_text())["components"]}


def test_the_wheel_lists_every_library_in_it(listing: dict[str, Any]) -> None:
    """The libraries in the wheel, and those whose headers the compiler lists as read for its module."""
    files = importlib.metadata.files("surety-dp")
    assert files is not None
    names = [file.name for file in files if file.parts[0] == "surety_dp.libs"]
    libraries = {str(path) for name in names for path in Path("/usr/lib/x86_64-linux-gnu").glob(re.sub(r"-[0-9a-f]{8}(?=\.so)", "", name) + "*")}
    assert len(names) == len({Path(path).name.split(".so")[0] for path in libraries}) > 5
    build = ROOT / "build" / "python" / "source" / "build" / "wheel"
    headers = {line.strip() for line in said_by("ninja", "-C", str(build), "-t", "deps").splitlines() if line.startswith("    /usr/")}
    assert len(headers) > 1000
    interpreter = sources_of({str(Path(sysconfig.get_path("include"), "Python.h"))})  # of a package where Debian's Python builds the wheel
    held = (sources_of(libraries) | sources_of(headers)) - OF_THE_SYSTEM - interpreter
    assert {"boost1.74", "eigen3", "bzip2", "gmp", "xxhash"} <= held
    packages = [name for name, component in listing.items() if component["purl"].startswith("pkg:deb/")]
    assert {said_by("dpkg-query", "--show", "--showformat=${source:Package}", package) for package in packages} == held
    assert set(listing) - set(packages) == {"surety_dp", "nanobind"}


def test_the_licence_of_the_wheel_is_that_of_all_that_it_holds(listing: dict[str, Any]) -> None:
    metadata = importlib.metadata.metadata("surety-dp")
    expression = metadata["License-Expression"]
    assert canonicalize_license_expression(expression) == expression
    parts = {part for component in listing.values() for part in component["licenses"][0]["expression"].split(" AND ")}
    assert expression == " AND ".join(sorted(f"({part})" if " OR " in part else part for part in parts))
    assert expression.startswith("(BSD-3-Clause OR GPL-2.0-only) AND ") and "AND LGPL-3.0-or-later AND" in expression
    # Each has a text in the wheel, and the metadata name each text.
    files = importlib.metadata.files("surety-dp")
    assert files is not None
    texts = {file.name: file.read_text() for file in files if file.parts[1:2] == ("licenses",)}
    assert set(texts) == set(metadata.get_all("License-File") or []) == {f"{name}.txt" for name in listing if name != "surety_dp"} | {"LICENSE", "GPL-3.txt", "LGPL-3.txt", "MPL-2.0.txt"}
    assert all(len(text) > 500 for text in texts.values())
    (boost,) = [text for name, text in texts.items() if name.startswith("libboost")]
    assert boost.startswith("Boost Software License - Version 1.0") and boost.rstrip().endswith("DEALINGS IN THE SOFTWARE.")
