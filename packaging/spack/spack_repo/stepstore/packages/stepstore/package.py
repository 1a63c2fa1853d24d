# Copyright Stepstore developers
#
# SPDX-License-Identifier: Apache-2.0

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Stepstore(CMakePackage):
    """Scientific I/O on objects: the DAOS object model on any machine, and an ADIOS2 engine
    that puts timesteps into key-value and array objects."""

    homepage = "https://github.com/stepstore/stepstore"
    git = "https://github.com/stepstore/stepstore.git"

    license("Apache-2.0")

    version("main", branch="main")

    variant("mpi", default=True, description="Build the MPI communicator and the MPI programs")
    variant("adios2", default=True, description="Build the ADIOS2 plugin")
    variant("python", default=True, description="Build the Python package and the command line")
    variant("compression", default=True, description="Compress steps with zstd and C-Blosc2")
    variant("bench", default=True, description="Build the benchmark programs")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    generator("ninja")

    depends_on("lmdb@0.9.22:")
    depends_on("xxhash@0.8:")
    depends_on("util-linux-uuid")
    depends_on("nlohmann-json@3.9:")
    depends_on("zstd@1.4:", when="+compression")
    depends_on("c-blosc2@2:", when="+compression")
    depends_on("mpi", when="+mpi")

    # The plugin engine interface v2 came with 2.12.
    depends_on("adios2@2.12:", when="+adios2")

    extends("python", when="+python")
    with when("+python"):
        depends_on("python@3.11:", type=("build", "run"))
        depends_on("py-nanobind@2.4:", type="build")
        depends_on("py-numpy@1.26:", type=("build", "run"))
        depends_on("py-rich@13:", type=("build", "run"))
        depends_on("py-typer@0.12:", type=("build", "run"))

    depends_on("googletest", type="test")

    conflicts("%gcc@:11", msg="Stepstore is C++20: GCC 12 or newer")
    conflicts("%clang@:15", msg="Stepstore is C++20: Clang 16 or newer")

    def cmake_args(self):
        args = [
            self.define_from_variant("STEPSTORE_MPI", "mpi"),
            self.define_from_variant("STEPSTORE_ADIOS2", "adios2"),
            self.define_from_variant("STEPSTORE_PYTHON", "python"),
            self.define_from_variant("STEPSTORE_ZSTD", "compression"),
            self.define_from_variant("STEPSTORE_BLOSC", "compression"),
            self.define_from_variant("STEPSTORE_BENCH", "bench"),
            self.define("STEPSTORE_TESTS", self.run_tests),
            self.define("STEPSTORE_EXAMPLES", False),
        ]
        if self.spec.satisfies("+python"):
            args.append(self.define("Python_EXECUTABLE", self["python"].command.path))
            args.append(self.define("STEPSTORE_PYTHON_DIRECTORY", python_platlib))
        return args

    def setup_run_environment(self, env):
        if self.spec.satisfies("+adios2"):
            env.prepend_path("ADIOS2_PLUGIN_PATH", self.prefix.lib)
