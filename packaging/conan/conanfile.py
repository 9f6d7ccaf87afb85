"""Surety's C++ libraries, and with the option ``c`` its C library, from the tree that this recipe lies in (packaging/README.md)."""

import re
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy

required_conan_version = ">=2.3"

#: What the libraries are made of, and what is installed with them. scripts/check-packaging compares it with CMakeLists.txt.
SOURCES = [
    "CHANGELOG.md",
    "CITATION.cff",
    "CMakeLists.txt",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "accounting",
    "base",
    "bindings/c",
    "cmake",
    "data",
    "docs",
    "examples",
    "include",
    "jobs",
    "mechanisms",
    "optimizers",
    "simulations",
    "statistics",
    "testing",
]


class Surety(ConanFile):
    name = "surety"
    description = "Differential privacy: calibrate, audit, embed"
    license = "Apache-2.0"
    topics = ("differential-privacy", "privacy-accounting", "dp-sgd")
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"c": [True, False]}
    default_options = {"c": False, "boost/*:header_only": True}

    def set_version(self):
        text = (Path(self.recipe_folder) / "../../CMakeLists.txt").read_text()
        self.version = re.search(r"^project\(surety VERSION ([0-9.]+)", text, re.MULTILINE)[1]

    def export_sources(self):
        root = Path(self.recipe_folder) / "../.."
        for name in SOURCES:
            to = Path(self.export_sources_folder) / name
            if (root / name).is_file():
                copy(self, name, src=root, dst=to.parent)
            else:
                copy(self, "*", src=root / name, dst=to)  # a pattern of the whole tree would walk its build folders, too

    def requirements(self):
        self.requires("boost/[>=1.74 <2]")
        self.requires("bzip2/[>=1.0.8 <2]")
        self.requires("eigen/[>=3.4 <4]")
        self.requires("fmt/[>=9 <10]", transitive_headers=True)
        self.requires("mpfr/[>=4.2 <5]", transitive_headers=True)
        self.requires("nlohmann_json/[>=3.11 <4]")
        self.requires("openssl/[>=3 <4]", transitive_headers=True)
        self.requires("sqlite3/[>=3.40 <4]")
        self.requires("xxhash/[>=0.8 <1]")
        self.requires("zlib/[>=1.2.13 <2]")
        self.requires("zstd/[>=1.5.4 <2]", transitive_headers=True)

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("os is not Linux: Surety is tested on Linux alone (docs/support.md)")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["SURETY_BUILD_COMMAND"] = False
        toolchain.cache_variables["SURETY_BUILD_C"] = bool(self.options.c)
        toolchain.user_presets_path = False  # nothing is written beside the sources
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=Path(self.package_folder) / "licenses")
        CMake(self).install()

    def package_info(self):
        # The package's own configuration has its targets and components (docs/guides/embedding.md#link).
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/surety"]
