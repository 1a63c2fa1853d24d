# Shared by the scripts in this folder: messages with the time they took, and where things live.
# Sourced, not run.
set -euo pipefail

STEPSTORE_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
STEPSTORE_CACHE=${STEPSTORE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stepstore}
STEPSTORE_VENV=${STEPSTORE_VENV:-$STEPSTORE_ROOT/.venv}
STEPSTORE_BUILD=${STEPSTORE_BUILD:-$STEPSTORE_ROOT/build}
ADIOS2_VERSION=2.12.1.1001
FDB5_VERSION=5.25.0.33
CLANG_FORMAT_VERSION=18.1.8
CLANG_TIDY_VERSION=22.1.8
RUFF_VERSION=0.17.6
ADIOS2_MPI_PREFIX=${ADIOS2_MPI_PREFIX:-$STEPSTORE_CACHE/adios2-$ADIOS2_VERSION-mpi-v3}
JOBS=${JOBS:-$(nproc)}
SCRIPT_START=$SECONDS
# The builds of one clone share what ccache has.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$STEPSTORE_ROOT} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
# Also for tests, whose common headers are precompiled.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}

# A line of a log that is shown has no half of a bar in it.
export PIP_PROGRESS_BAR=off

# say TEXT: one line, with the seconds since the script began.
say() { printf '[%4ds] %s\n' "$((SECONDS - SCRIPT_START))" "$*"; }

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# quiet_step TITLE LOG COMMAND...: runs the command with its output in LOG. It prints a dot every ten seconds,
# and the output's last lines when the command fails.
quiet_step() {
    local title=$1 log=$2 begin=$SECONDS pid status=0 last
    shift 2
    mkdir -p "$(dirname "$log")"
    say "$title (log: $log)"
    "$@" >"$log" 2>&1 &
    pid=$!
    local ticks=0
    while kill -0 "$pid" 2>/dev/null; do
        sleep 0.2
        ticks=$((ticks + 1))
        if ((ticks % 50 == 0)); then
            last=$(tail -n 1 "$log" | tr -d '\r')
            printf '        ... %ds %s\n' "$((SECONDS - begin))" "${last:0:90}"
        fi
    done
    wait "$pid" || status=$?
    if ((status != 0)); then
        tail -n 40 "$log" >&2
        die "$title: failed with status $status after $((SECONDS - begin)) s; the whole log is $log"
    fi
    say "$title: done in $((SECONDS - begin)) s"
}

# as_root COMMAND...: runs it directly as root, else through sudo.
as_root() {
    if [[ $(id -u) == 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "'$*' needs root: run it as root, or install sudo"
    fi
}
