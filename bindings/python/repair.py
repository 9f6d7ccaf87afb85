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
from pathlib import Path

from auditwheel.wheeltools import InWheel

PLATFORM = "manylinux_2_34_x86_64"
# What is compiled into the module and is no library of its own.
COMPILED_IN = ["libxxhash-dev", "nlohmann-json3-dev"]


def said_by(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries_of(wheel: Path) -> dict[str, Path]:
    """Where the loader finds what the wheel's module is linked to, by names without versions."""
    with InWheel(wheel) as inside:
        (module,) = Path(inside).glob("surety/_library*.so")
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
        names = {file.name.rsplit(".so", 1)[0].rsplit("-", 1)[0] for file in Path(inside).glob("surety.libs/*.so*")}
    return sorted({package_of(libraries[name]) for name in names})


def add_licences(inside: Path, packages: list[str]) -> None:
    (info,) = inside.glob("*.dist-info")
    folder = info / "licenses"
    folder.mkdir(exist_ok=True)
    for package in packages:
        (folder / f"{package}.txt").write_bytes(Path(f"/usr/share/doc/{package}/copyright").read_bytes())
    nanobind = importlib.metadata.distribution("nanobind")
    texts = [file for file in nanobind.files or [] if file.name.startswith("LICENSE")]
    if not texts:
        sys.exit("repair: nanobind comes without its licence")
    (robin_map,) = [file for file in nanobind.files or [] if file.name == "robin_map.h"]
    (folder / "robin_map.txt").write_text(robin_map.read_text().split("*/")[0])
    for file in texts:
        (folder / f"nanobind-{'-'.join(file.parts[:-1][-1:])}-{file.name}.txt").write_text(file.read_text())


def list_compiled_in(inside: Path) -> None:
    """auditwheel lists the libraries; what is compiled in is added."""
    (listing,) = inside.glob("*.dist-info/sboms/*.cdx.json")
    sbom = json.loads(listing.read_text())
    versions = {package: said_by("dpkg-query", "--show", "--showformat=${Version}", package) for package in COMPILED_IN}
    purls = {package: f"pkg:deb/debian/{package}@{version}" for package, version in versions.items()}
    versions["nanobind"] = importlib.metadata.version("nanobind")
    purls["nanobind"] = f"pkg:pypi/nanobind@{versions['nanobind']}"
    for name, version in versions.items():
        sbom["components"].append({"type": "library", "bom-ref": purls[name], "name": name, "version": version, "purl": purls[name]})
        sbom["dependencies"][0]["dependsOn"].append(purls[name])
        sbom["dependencies"].append({"ref": purls[name]})
    listing.write_text(json.dumps(sbom, indent=1))


def main(wheel: Path, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as made:
        command = [sys.executable, "-m", "auditwheel", "repair", "--strip", "--plat", PLATFORM, "--wheel-dir", made, str(wheel)]
        if subprocess.run(command, check=False).returncode != 0:
            sys.exit(f"repair: {wheel.name} is no wheel for {PLATFORM}")
        (repaired,) = Path(made).glob("*.whl")
        packages = packages_in(repaired, libraries_of(wheel))
        with InWheel(repaired, folder / repaired.name) as inside:
            add_licences(Path(inside), packages + COMPILED_IN)
            list_compiled_in(Path(inside))
    print(f"{repaired.name}: with {', '.join(packages)}")


main(Path(sys.argv[1]), Path(sys.argv[2]))
