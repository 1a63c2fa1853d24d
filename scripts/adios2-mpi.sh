#!/usr/bin/env bash
# Builds ADIOS2 with MPI and Fortran from its PyPI source distribution, once, into the user's cache:
# the wheel on PyPI is serial. Prints the prefix. A second run finds it and does nothing.
#
#   scripts/adios2-mpi.sh [--features]
#
# With --features instead a serial one with derived variables, and where Kokkos_DIR names the folder of
# KokkosConfig.cmake also with Kokkos: for the test plugins.derived (docs/adios2.md).
#
# Environment: STEPSTORE_CACHE (default ~/.cache/stepstore), ADIOS2_MPI_PREFIX, JOBS, PYTHON.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

prefix=$ADIOS2_MPI_PREFIX what='with MPI' options=(-DADIOS2_USE_MPI=ON -DADIOS2_USE_Fortran=ON)
unused='Derived_Variable Kokkos'
if [[ ${1:-} == --features ]]; then
    prefix=$STEPSTORE_CACHE/adios2-$ADIOS2_VERSION-features what='with derived variables'
    options=(-DADIOS2_USE_MPI=OFF -DADIOS2_USE_Fortran=OFF -DADIOS2_USE_Derived_Variable=ON) unused=Kokkos
    if [[ -n ${Kokkos_DIR:-} ]]; then
        prefix+=-kokkos unused=''
        options+=(-DADIOS2_USE_Kokkos=ON "-DKokkos_DIR=$Kokkos_DIR" -DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON)
    fi
elif (($# > 0)); then
    die "there is no option $1: --features or none"
fi
if [[ -f $prefix/.complete ]]; then
    say "ADIOS2 $ADIOS2_VERSION $what is in $prefix"
    exit 0
fi
python=${PYTHON:-$STEPSTORE_VENV/bin/python}
[[ -x $python ]] || python=$(command -v python3)
work=$STEPSTORE_CACHE/adios2-work
log=$STEPSTORE_CACHE/log
mkdir -p "$work" "$log"
# One build at a time; a second caller waits for the first and then finds its result.
exec 9>"$STEPSTORE_CACHE/adios2-mpi.lock"
flock 9
if [[ -f $prefix/.complete ]]; then
    say "ADIOS2 $ADIOS2_VERSION $what is in $prefix"
    exit 0
fi

say "ADIOS2 $ADIOS2_VERSION $what: building once (about ten minutes on two cores)"
rm -rf "$work" "$prefix"
mkdir -p "$work/sdist" "$work/src"
quiet_step "download the ADIOS2 source distribution" "$log/adios2-download.log" \
    "$python" -m pip download --no-deps --no-binary :all: --no-build-isolation \
    "adios2==$ADIOS2_VERSION" -d "$work/sdist"
tar -xzf "$work"/sdist/adios2-*.tar.gz -C "$work/src" --strip-components=1
# Three operators that programs use: lossless, lossless, lossy.
with=(-DADIOS2_USE_BZip2=ON -DADIOS2_USE_ZFP=ON)
blosc2=$("$python" -c 'import blosc2, os; print(os.path.dirname(blosc2.__file__) + "/lib/cmake")' \
    2>/dev/null || true)
[[ -z $blosc2 ]] ||
    with+=(-DADIOS2_USE_Blosc2=ON -DADIOS2_Blosc2_PREFER_SHARED=OFF "-DBlosc2_DIR=$blosc2")
off=()
for feature in SST DataMan HDF5 Python Campaign ZeroMQ SZ CURL OpenSSL \
    MGARD PNG DAOS DataSpaces UCX Sodium SysVShMem Profiling CUDA $unused \
    Catalyst XRootD AWSSDK MHS; do
    off+=("-DADIOS2_USE_$feature=OFF")
done
# ADIOS2's own sources are compiled several at once, which takes less time. Those of other projects
# in it cannot be, nor two of its own, and one header has no guard.
header=$work/src/source/adios2/operator/OperatorFactory.h
grep -q '#pragma once' "$header" || sed -i '1i #pragma once' "$header"
cat >"$work/unity.cmake" <<'END'
if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
  set(CMAKE_UNITY_BUILD ON)
  cmake_language(DEFER CALL set_source_files_properties
    ${CMAKE_SOURCE_DIR}/source/adios2/engine/bp5/BP5Reader.cpp
    ${CMAKE_SOURCE_DIR}/source/adios2/helper/adiosString.cpp
    TARGET_DIRECTORY adios2_core PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
else()
  set(CMAKE_UNITY_BUILD OFF)
endif()
END
quiet_step "configure ADIOS2" "$log/adios2-configure.log" \
    cmake -S "$work/src" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$prefix" "${options[@]}" \
    "${with[@]}" "${off[@]}" -DBUILD_TESTING=OFF -DADIOS2_BUILD_EXAMPLES=OFF -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_PROJECT_INCLUDE="$work/unity.cmake" \
    -DCMAKE_INSTALL_RPATH='$ORIGIN;$ORIGIN/../lib'
quiet_step "build ADIOS2" "$log/adios2-build.log" cmake --build "$work/build" --parallel "$JOBS"
quiet_step "install ADIOS2" "$log/adios2-install.log" cmake --install "$work/build"
# ADIOS2's own metadata benchmark, used by 'stepstore bench metadata'; it is no install target.
perf=$work/src/testing/adios2/performance/metadata/PerfMetaData.cpp
if [[ -f $perf && $what == 'with MPI' ]]; then
    quiet_step "build ADIOS2's PerfMetaData" "$log/adios2-perf.log" \
        mpicxx -O2 -std=c++17 -DADIOS2_USE_MPI=1 -I"$ADIOS2_MPI_PREFIX/include" \
        -I"$work/src/thirdparty/nlohmann_json/nlohmann_json/single_include" \
        -I"$work/src/testing/adios2/performance/metadata" "$perf" \
        -L"$ADIOS2_MPI_PREFIX/lib" -Wl,-rpath,"$ADIOS2_MPI_PREFIX/lib" \
        -ladios2_cxx_mpi -ladios2_cxx -ladios2_core_mpi -ladios2_core -o "$ADIOS2_MPI_PREFIX/bin/PerfMetaData"
fi
touch "$prefix/.complete"
rm -rf "$work"
say "ADIOS2 $what is in $prefix"
