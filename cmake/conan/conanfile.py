"""The library for Conan 2: conan create cmake/conan -o 'headroom/*:shared=True'

The libraries behind it (xsimd, oneDNN, oneTBB, fmt, nlohmann-json) are those of the system, as with
headroom's own packages.
"""

import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

BACKENDS = {
    "xsimd": ["libxsimd-dev"],
    "onednn": ["libdnnl-dev", "ocl-icd-opencl-dev"],
    "tbb": ["libtbb-dev"],
}


class Headroom(ConanFile):
    name = "headroom"
    description = "How fast multi-head attention can run on a CPU, and the library that runs it"
    license = "MIT"
    topics = ("attention", "transformer", "simd", "cpu")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], **{backend: [True, False] for backend in BACKENDS}}
    default_options = {"shared": False, **dict.fromkeys(BACKENDS, True)}

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._root, "CMakeLists.txt"))
        self.version = re.search(r"project\(headroom VERSION ([0-9.]+)", text)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "README.md", "LICENSE", "cmake/*", "docs/*", "include/*", "src/*"):
            copy(self, pattern, self._root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.options.tbb and not self.options.xsimd:
            from conan.errors import ConanInvalidConfiguration

            raise ConanInvalidConfiguration("tbb runs the kernels of xsimd; leave xsimd=True")

    def system_requirements(self):
        packages = ["libfmt-dev", "nlohmann-json3-dev"]
        for backend, needed in BACKENDS.items():
            if self.options.get_safe(backend):
                packages += needed
        Apt(self).install(packages, check=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["HEADROOM_BUILD_TESTS"] = False
        toolchain.cache_variables["HEADROOM_BUILD_BENCHMARKS"] = False
        toolchain.cache_variables["HEADROOM_WITH_MPI"] = "OFF"
        for backend in BACKENDS:
            used = bool(self.options.get_safe(backend))
            toolchain.cache_variables[f"HEADROOM_WITH_{backend.upper()}"] = "ON" if used else "OFF"
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
