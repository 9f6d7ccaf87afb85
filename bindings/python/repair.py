"""repair WHEEL FOLDER: writes to FOLDER the wheel as others install it.

Debian's libraries that the module is linked to lie in it, under names of their own (auditwheel), with the licences of all that is in it and a CycloneDX
list of it. Refused where the module or one of the libraries asks for a symbol newer than glibc 2.34, which RHEL 9 and Amazon Linux 2023 have.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import deflate
from auditwheel.wheeltools import InWheel

PLATFORM = "manylinux_2_34_x86_64"
# Headers of what is compiled into the module, of one Debian package each.
COMPILED_IN = ["boost/version.hpp", "eigen3/Eigen/Core", "nlohmann/json.hpp", "xxhash.h"]
OWN_LICENCE = "Apache-2.0"
# By Debian's source package, or the name of what comes with nanobind: the SPDX expression of what the wheel holds of it.
LICENCES = {
    "boost1.74": "BSL-1.0",
    "bzip2": "bzip2-1.0.6",
    "eigen3": "MPL-2.0 AND Apache-2.0 AND BSD-3-Clause",
    "fmtlib": "MIT",
    "gmp": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "mpfr4": "LGPL-3.0-or-later",
    "nlohmann-json3": "MIT",
    "openssl": "Apache-2.0",
    "sqlite3": "blessing",
    "xxhash": "BSD-2-Clause",
    "nanobind": "BSD-3-Clause",
}
# Texts that files of Debian refer to and licences ask for.
COMMON_LICENCES = ["GPL-3", "LGPL-3", "MPL-2.0"]


class Deflater:
    """What ``zipfile`` compresses by, with libdeflate: its level 10 is 3.5 % smaller than the level 9 of zlib, in the same format."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def compress(self, data: bytes) -> bytes:
        self.parts.append(bytes(data))
        return b""

    def flush(self) -> bytes:
        return bytes(deflate.deflate_compress(b"".join(self.parts), 10))


def said_by(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries_of(wheel: Path) -> dict[str, Path]:
    """Where the loader finds what the wheel's module is linked to, by names without versions."""
    with InWheel(wheel) as inside:
        (module,) = Path(inside).glob("surety_dp/_library*.so")
        lines = said_by("ldd", str(module)).splitlines()
    found = {}
    for line in lines:
        name, _, path = line.strip().partition(" => ")
        if path:
            found[name.split(".so")[0]] = Path(path.split(" (")[0]).resolve()
    return found


def package_of(library: Path) -> str:
    """The Debian package of a file, which it may know by the path that it had before /lib became /usr/lib."""
    paths = [library, Path("/") / library.relative_to("/usr")] if library.is_relative_to("/usr") else [library]
    for path in paths:
        found = subprocess.run(["dpkg-query", "--search", str(path)], check=False, capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    sys.exit(f"repair: {library} is of no Debian package")


def packages_in(repaired: Path, libraries: dict[str, Path]) -> list[str]:
    """The Debian packages of the libraries that the wheel holds."""
    with InWheel(repaired) as inside:
        # auditwheel calls libgmp-0123abcd.so.10.4.1 what was libgmp.so.10.
        names = {file.name.rsplit(".so", 1)[0].rsplit("-", 1)[0] for file in Path(inside).glob("surety_dp.libs/*.so*")}
    return sorted({package_of(libraries[name]) for name in names})


def source_of(package: str) -> str:
    return said_by("dpkg-query", "--show", "--showformat=${source:Package}", package)


def licence_of(name: str) -> str:
    if name not in LICENCES:
        sys.exit(f"repair: the wheel holds {name}, whose licence LICENCES does not name")
    return LICENCES[name]


def licence_text(package: str) -> str:
    text = Path(f"/usr/share/doc/{package}/copyright").read_text()
    if source_of(package) != "boost1.74":
        return text
    # Two megabytes, of which the headers in use have one licence.
    begin = text.index(" Boost Software License - Version 1.0")
    return "".join(line[1:] if line.strip() != "." else "\n" for line in text[begin : text.index("\n\n", begin) + 1].splitlines(keepends=True))


def add_licences(inside: Path, packages: list[str]) -> None:
    (info,) = inside.glob("*.dist-info")
    folder = info / "licenses"
    folder.mkdir(exist_ok=True)
    for package in packages:
        (folder / f"{package}.txt").write_text(licence_text(package))
    for name in COMMON_LICENCES:
        (folder / f"{name}.txt").write_bytes(Path(f"/usr/share/common-licenses/{name}").read_bytes())
    nanobind = importlib.metadata.distribution("nanobind")
    texts = [file for file in nanobind.files or [] if file.name.startswith("LICENSE")]
    if len(texts) != 1:
        sys.exit(f"repair: nanobind comes with {len(texts)} licences, must have one")
    (folder / "nanobind.txt").write_text(texts[0].read_text())


def declare_licences(inside: Path, packages: list[str]) -> None:
    """In the metadata: an expression of all licences, and the files with their texts."""
    (info,) = inside.glob("*.dist-info")
    of_parts = [OWN_LICENCE, *(licence_of(name) for name in [*map(source_of, packages), "nanobind"])]
    parts = {part for licence in of_parts for part in licence.split(" AND ")}
    expression = " AND ".join(sorted(f"({part})" if " OR " in part else part for part in parts))
    lines = (info / "METADATA").read_text().splitlines(keepends=True)
    files = sorted(file.name for file in (info / "licenses").iterdir())
    changed = [line for line in lines[: lines.index("\n")] if not line.startswith("License-File:")]
    place = changed.index(f"License-Expression: {OWN_LICENCE}\n")
    changed[place : place + 1] = [f"License-Expression: {expression}\n", *(f"License-File: {file}\n" for file in files)]
    (info / "METADATA").write_text("".join(changed + lines[lines.index("\n") :]))


def complete_listing(inside: Path, packages: list[str]) -> None:
    """auditwheel lists libraries, but not one that a package has under a path of old; what is compiled in is added, and the licence of each."""
    (listing,) = inside.glob("*.dist-info/sboms/*.cdx.json")
    sbom = json.loads(listing.read_text())
    versions = {package: said_by("dpkg-query", "--show", "--showformat=${Version}", package) for package in packages}
    added = {package: (version, f"pkg:deb/debian/{package}@{quote(version)}") for package, version in versions.items()}
    nanobind = importlib.metadata.version("nanobind")
    added["nanobind"] = (nanobind, f"pkg:pypi/nanobind@{nanobind}")
    listed = {component["name"] for component in sbom["components"]}
    for name, (version, purl) in added.items():
        if name not in listed:
            sbom["components"].append({"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl})
            sbom["dependencies"][0]["dependsOn"].append(purl)
            sbom["dependencies"].append({"ref": purl})
    for component in sbom["components"]:
        name = component["name"]
        licence = OWN_LICENCE if name == "surety_dp" else licence_of(source_of(name) if name in versions else name)
        component["licenses"] = [{"expression": licence}]
    listing.write_text(json.dumps(sbom, indent=1))


def main(wheel: Path, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as made:
        command = [sys.executable, "-m", "auditwheel", "repair", "--strip", "--plat", PLATFORM, "--wheel-dir", made, str(wheel)]
        if subprocess.run(command, check=False).returncode != 0:
            sys.exit(f"repair: {wheel.name} is no wheel for {PLATFORM}")
        (repaired,) = Path(made).glob("*.whl")
        packages = packages_in(repaired, libraries_of(wheel))
        held = packages + [package_of(Path("/usr/include") / header) for header in COMPILED_IN]
        compressors: Any = zipfile
        compressors._get_compressor = lambda kind, level=None: None if kind == zipfile.ZIP_STORED else Deflater()  # folders are stored
        with InWheel(repaired, folder / repaired.name) as inside:
            add_licences(Path(inside), held)
            declare_licences(Path(inside), held)
            complete_listing(Path(inside), held)
    with zipfile.ZipFile(folder / repaired.name) as made_anew:
        if made_anew.testzip() is not None:
            sys.exit(f"repair: {made_anew.testzip()} in {repaired.name} is not what was compressed")
    print(f"{repaired.name}: with {', '.join(packages)}")


main(Path(sys.argv[1]), Path(sys.argv[2]))
