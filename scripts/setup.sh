#!/usr/bin/env bash
# Prepares this clone: Debian packages, .venv, and the stepstore package built into it. What is there already
# is left as it is; a second run takes about a second.
#
# setup.sh first   compilers, MPI, ADIOS2 and matplotlib: what the demo's first picture needs. No package
# setup.sh demo    what the demo needs: the package without Ceph, FDB, the benchmarks and the simulator
# setup.sh         everything: also what the tests, the site and the wheels need
#
# Environment: PYTHON (default python3, 3.11 or later), JOBS, STEPSTORE_VENV, STEPSTORE_BUILD,
# STEPSTORE_SKIP_APT=1.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$STEPSTORE_ROOT"
log=$STEPSTORE_BUILD/log
case ${1:-all} in
    first) level=1 ;;
    demo) level=2 ;;
    all) level=3 ;;
    *) die "setup.sh $1: it takes first, demo, or nothing for everything" ;;
esac

# ---- packages of the distribution
packages=(g++ make cmake ninja-build ccache pkg-config git python3-venv
    liblmdb-dev libxxhash-dev uuid-dev libzstd-dev nlohmann-json3-dev libopenmpi-dev openmpi-bin)
((level < 2)) || packages+=(gfortran libbz2-dev libzfp-dev) # for ADIOS2 with MPI
((level < 3)) || packages+=(libgtest-dev libhdf5-openmpi-dev libsimgrid-dev chromium chromium-driver
    ceph-mon ceph-osd librados-dev libradospp-dev ceph-mds ceph-fuse libfuse3-dev fuse3 iproute2)
# A Python that brings its own headers (pyenv, conda) needs no package for them.
"${PYTHON:-python3}" - <<'END' 2>/dev/null || packages+=(python3-dev)
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))
END
missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [[ $status == installed ]] || missing+=("$package")
done
if ((${#missing[@]})); then
    if [[ ${STEPSTORE_SKIP_APT:-0} == 1 ]]; then
        die "missing packages: ${missing[*]} (STEPSTORE_SKIP_APT=1: install them by hand)"
    fi
    command -v apt-get >/dev/null ||
        die "this set-up is for Debian and systems derived from it; install by hand: ${missing[*]}"
    say "packages to install: ${missing[*]}"
    quiet_step "apt-get update" "$log/apt-update.log" as_root apt-get update
    # For libFuzzer (tests/fuzz). Debian 12 has it, not every distribution does.
    ((level < 3)) || ! apt-cache show clang-19 libclang-rt-19-dev >/dev/null 2>&1 ||
        missing+=(clang-19 libclang-rt-19-dev)
    quiet_step "apt-get install" "$log/apt-install.log" \
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
fi

# ---- Python
requirements=("adios2==$ADIOS2_VERSION" "numpy>=1.24" "matplotlib>=3.7")
((level < 2)) || requirements+=("nanobind>=2.2" "scikit-build-core>=0.10" "blosc2>=4.14"
    "typer>=0.12" "rich>=13")
((level < 3)) || requirements+=("mpi4py>=4" "pytest>=7" "jinja2>=3.1" "selenium>=4.20"
    "pyfdb==$FDB5_VERSION" "fdb5lib==$FDB5_VERSION" "eccodes>=2.40" "clang-format==$CLANG_FORMAT_VERSION"
    "clang-tidy==$CLANG_TIDY_VERSION" "ruff==$RUFF_VERSION" "mypy>=1.11"
    "xarray>=2024.11" "netCDF4>=1.7" "dask[array]>=2024.6" "earthkit-data>=1.0" "z3fdb==$FDB5_VERSION"
    "nbclient>=0.10" "ipykernel>=6.29" "zarr>=3.1.6" "fsspec>=2024.6" "pandas>=2.2" "pyarrow>=18"
    "kerchunk>=0.2.7" "anndata>=0.12" "pytest-asyncio>=0.24"
    "mkdocs>=1.6" "mkdocs-material>=9.7,<10" "mkdocstrings[python]>=1.0")
# The stamp has what was asked for; what a higher level installed serves a lower one too.
stamp=$STEPSTORE_VENV/.stepstore-requirements
wanting=$(printf '%s\n' "${requirements[@]}" | grep -vxF -f "$stamp" 2>/dev/null || true)
if [[ ! -f $stamp || -n $wanting ]]; then
    python=${PYTHON:-python3}
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        die "$python is older than Python 3.11: set PYTHON"
    [[ -x $STEPSTORE_VENV/bin/python ]] ||
        quiet_step "make $STEPSTORE_VENV" "$log/venv.log" "$python" -m venv "$STEPSTORE_VENV"
    quiet_step "install Python packages" "$log/pip.log" \
        "$STEPSTORE_VENV/bin/python" -m pip install --disable-pip-version-check "${requirements[@]}"
    printf '%s\n' "${requirements[@]}" >"$stamp"
fi
((level > 1)) || exit 0

# ---- the package itself: libraries, ADIOS2 plugin, Python extension and command line. With the compilers'
# names and the flags of the other builds, so that ccache has their objects. With the benchmarks that need an
# ADIOS2 with MPI where scripts/adios2-mpi.sh has built one. The stamp has the level and the sources' hash:
# the whole package serves the demo too.
options=()
if ((level == 2)); then
    for part in BENCH FDB5 RADOS; do options+=("--config-settings=cmake.define.STEPSTORE_$part=OFF"); done
    options+=(--config-settings=cmake.define.CMAKE_DISABLE_FIND_PACKAGE_SimGrid=ON
        "--config-settings=build-dir=$STEPSTORE_BUILD/wheel-demo")
else
    options+=("--config-settings=build-dir=$STEPSTORE_BUILD/wheel")
    if [[ -f $ADIOS2_MPI_PREFIX/.complete ]]; then
        options+=("--config-settings=cmake.define.STEPSTORE_ADIOS2_MPI_PREFIX=$ADIOS2_MPI_PREFIX")
    else
        say "without the benchmarks data, open and metadata: scripts/adios2-mpi.sh builds what they need"
    fi
fi
stamp=$STEPSTORE_VENV/.stepstore-sources
sources=$(git -C "$STEPSTORE_ROOT" ls-files -co --exclude-standard -- CMakeLists.txt cmake include src \
    plugins bindings python bench examples pyproject.toml README.md LICENSE | sort |
    while IFS= read -r file; do [[ ! -f $file ]] || printf '%s\0' "$file"; done |
    xargs -0 sha256sum | sha256sum)
there=$(cat "$stamp" 2>/dev/null || true)
made="level $level $sources"
((level == 2)) || made+=" ${options[*]}"
if [[ ! -x $STEPSTORE_VENV/bin/stepstore ]] ||
    ! { [[ $there == "$made" ]] || [[ $level == 2 && $there == "level 3 $sources "* ]]; }; then
    quiet_step "build stepstore into $STEPSTORE_VENV" "$log/package.log" \
        env CC=cc CXX=c++ CMAKE_BUILD_PARALLEL_LEVEL="$JOBS" \
        "$STEPSTORE_VENV/bin/python" -m pip install --disable-pip-version-check --no-build-isolation \
        --no-deps --force-reinstall --config-settings=cmake.define.STEPSTORE_WERROR=ON \
        "${options[@]}" "$STEPSTORE_ROOT"
    printf '%s' "$made" >"$stamp"
fi
say "set-up: done ($("$STEPSTORE_VENV/bin/stepstore" version 2>/dev/null | head -n 1))"
