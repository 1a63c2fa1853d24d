#!/usr/bin/env bash
# Builds openPMD-api for the ADIOS2 of PyPI, so that it loads engines, into an environment of Python's in the
# cache, once: docs/adios2.md has the commands. Prints the environment's Python. Needs a compiler and the
# packages libtoml11-dev and nlohmann-json3-dev.
#
# Environment: STEPSTORE_CACHE (default ~/.cache/stepstore), PYTHON.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
version=0.17.1.post4
environment=$STEPSTORE_CACHE/openpmd-api-$version-adios2-$ADIOS2_VERSION
python=$environment/bin/python
if [[ ! -f $environment/.complete ]]; then
    rm -rf "$environment"
    "${PYTHON:-python3}" -m venv "$environment"
    log=$STEPSTORE_CACHE/log/openpmd.log
    export PATH=$environment/bin:$PATH
    quiet_step "what the build needs" "$log" pip install "adios2==$ADIOS2_VERSION" "pybind11>=3" \
        setuptools wheel packaging cmake numpy
    ADIOS2_DIR=$("$python" -c 'import adios2, os; print(os.path.dirname(adios2.__file__))')/cmake/adios2
    pybind11_DIR=$("$python" -m pybind11 --cmakedir)
    export ADIOS2_DIR pybind11_DIR
    # The build would fetch other sources. And the library of the package beside it is the one to use.
    export openPMD_CMAKE_openPMD_SUPERBUILD=OFF openPMD_CMAKE_openPMD_USE_ADIOS2=ON
    # shellcheck disable=SC2016
    export openPMD_CMAKE_CMAKE_INSTALL_RPATH='$ORIGIN/../adios2'
    quiet_step "openPMD-api $version" "$log" pip install --no-cache-dir --no-build-isolation --no-deps \
        --no-binary openpmd-api "openpmd-api==$version"
    touch "$environment/.complete"
fi
say "openPMD-api $version for ADIOS2 $ADIOS2_VERSION: $python"
