#!/usr/bin/env bash
# Builds ADIOS2 with MPI and Fortran from its PyPI source distribution, once, into the user's cache:
# the wheel on PyPI is serial. Prints the prefix. A second run finds it and does nothing.
#
#   scripts/adios2-mpi.sh [--release R [--source DIR]] [--features]
#
# Another release than the one that the project is built with: 2.11.0, or a version of PyPI's; or any, from a
# directory with its sources. ADIOS2_MPI_PREFIX is not for these.
#
# With --features instead a serial one with derived variables, and where Kokkos_DIR names the folder of
# KokkosConfig.cmake also with Kokkos: for the test plugins.derived (docs/adios2.md).
#
# Environment: STEPSTORE_CACHE (default ~/.cache/stepstore), ADIOS2_MPI_PREFIX, JOBS, PYTHON.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

release=$ADIOS2_VERSION source='' features=no
while (($#)); do
    case $1 in
    --release) release=${2:?} && shift ;;
    --source) source=$(realpath "${2:?}") && shift ;;
    --features) features=yes ;;
    *) die "there is no option $1: see the head of $0" ;;
    esac
    shift
done
python=${PYTHON:-$STEPSTORE_VENV/bin/python}
[[ -x $python ]] || python=$(command -v python3)
log=$STEPSTORE_CACHE/log
[[ $release != "${ADIOS2_VERSION%.*}" ]] || release=$ADIOS2_VERSION
version=$release
if [[ $release != "$ADIOS2_VERSION" && -z $source ]]; then
    places=$("$python" "$STEPSTORE_ROOT/scripts/adios2_release.py" --sources "$release") ||
        die "the sources of ADIOS2 $release cannot be downloaded"
    { read -r version && read -r source; } <<<"$places"
fi
prefix=$ADIOS2_MPI_PREFIX what='with MPI' options=(-DADIOS2_USE_MPI=ON -DADIOS2_USE_Fortran=ON)
[[ $version == "$ADIOS2_VERSION" ]] || prefix=$STEPSTORE_CACHE/adios2-$version-mpi-v3
unused='Derived_Variable Kokkos'
if [[ $features == yes ]]; then
    prefix=$STEPSTORE_CACHE/adios2-$version-features what='with derived variables'
    options=(-DADIOS2_USE_MPI=OFF -DADIOS2_USE_Fortran=OFF -DADIOS2_USE_Derived_Variable=ON) unused=Kokkos
    if [[ -n ${Kokkos_DIR:-} ]]; then
        prefix+=-kokkos unused=''
        options+=(-DADIOS2_USE_Kokkos=ON "-DKokkos_DIR=$Kokkos_DIR" -DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON)
    fi
fi
if [[ -f $prefix/.complete ]]; then
    say "ADIOS2 $version $what is in $prefix"
    exit 0
fi
work=$STEPSTORE_CACHE/adios2-work
mkdir -p "$work" "$log"
# One build at a time; a second caller waits for the first and then finds its result.
exec 9>"$STEPSTORE_CACHE/adios2-mpi.lock"
flock 9
if [[ -f $prefix/.complete ]]; then
    say "ADIOS2 $version $what is in $prefix"
    exit 0
fi

say "ADIOS2 $version $what: building once (about ten minutes on two cores)"
rm -rf "$work" "$prefix"
mkdir -p "$work/sdist" "$work/src"
if [[ -n $source ]]; then
    cp -r "$source/." "$work/src"
else
    quiet_step "download the ADIOS2 source distribution" "$log/adios2-download.log" \
        "$python" -m pip download --no-deps --no-binary :all: --no-build-isolation \
        "adios2==$version" -d "$work/sdist"
    tar -xzf "$work"/sdist/adios2-*.tar.gz -C "$work/src" --strip-components=1
fi
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
# in it cannot be, nor three of its own and the C++ interface before 2.12, and one header has no guard.
header=$work/src/source/adios2/operator/OperatorFactory.h
grep -q '#pragma once' "$header" || sed -i '1i #pragma once' "$header"
case $version in
2.10.*) interface=s/@interface@/adios2_cxx11/ ;;
2.11.*) interface=s/@interface@/adios2_cxx/ ;;
*) interface=/@interface@/d ;;
esac
sed "$interface" >"$work/unity.cmake" <<'END'
if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
  set(CMAKE_UNITY_BUILD ON)
  cmake_language(DEFER CALL set_source_files_properties
    ${CMAKE_SOURCE_DIR}/source/adios2/engine/bp5/BP5Reader.cpp
    ${CMAKE_SOURCE_DIR}/source/adios2/helper/adiosString.cpp
    ${CMAKE_SOURCE_DIR}/source/adios2/toolkit/transport/file/FileStdio.cpp
    TARGET_DIRECTORY adios2_core PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  cmake_language(DEFER CALL set_property TARGET @interface@ PROPERTY UNITY_BUILD OFF)
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
if [[ -f $perf && $prefix == "$ADIOS2_MPI_PREFIX" ]]; then
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
