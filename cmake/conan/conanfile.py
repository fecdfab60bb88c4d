"""The library for Conan 2: conan create cmake/conan -o 'headroom/*:shared=True'

The libraries behind it are those of the system, as with headroom's own packages, and CMake says which
one it misses. -o 'headroom/*:without=...' names libraries to build without, with spaces between.
"""

import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Headroom(ConanFile):
    name = "headroom"
    description = "How fast multi-head attention can run on a CPU, and the library that runs it"
    license = "MIT"
    topics = ("attention", "transformer", "simd", "cpu")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "without": ["ANY"]}
    default_options = {"shared": False, "without": ""}

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._root, "CMakeLists.txt"))
        self.version = re.search(r"project\(headroom VERSION ([0-9.]+)", text)[1]

    def export_sources(self):
        files = ("CMakeLists.txt", "README.md", "LICENSE", "cmake/*", "docs/*", "include/*", "src/*")
        for pattern in files:
            copy(self, pattern, self._root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["HEADROOM_BUILD_TESTS"] = False
        toolchain.cache_variables["HEADROOM_BUILD_BENCHMARKS"] = False
        toolchain.cache_variables["HEADROOM_WITH_MPI"] = "OFF"
        for part in str(self.options.without).split():
            toolchain.cache_variables[f"HEADROOM_WITH_{part.upper()}"] = "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # headroom's own package says which component needs what.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "headroom")]
