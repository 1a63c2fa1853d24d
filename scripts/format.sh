#!/usr/bin/env bash
# Formats the C and C++ sources with clang-format (.clang-format) and the Python sources with ruff
# (pyproject.toml), which also names what nothing uses. --check only looks, and lists what is not formatted.
#
# Usage: scripts/format.sh [--check] [FILE...]; without files all that git knows. Environment: CLANG_FORMAT,
# RUFF (default: those of .venv). They must have the versions that scripts/lib.sh pins.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$STEPSTORE_ROOT"
clang_format=${CLANG_FORMAT:-$STEPSTORE_VENV/bin/clang-format}
ruff=${RUFF:-$STEPSTORE_VENV/bin/ruff}

check=0
if [[ ${1:-} == --check ]]; then
    check=1
    shift
fi

# pinned TOOL VERSION: ends the script unless the tool is there in that version; others format differently.
pinned() {
    [[ -x $1 ]] || die "there is no $1: run make setup"
    local found
    found=$("$1" --version)
    [[ $found == *" $2"* ]] || die "$1 is '$found': the sources are formatted with version $2"
}
pinned "$clang_format" "$CLANG_FORMAT_VERSION"
pinned "$ruff" "$RUFF_VERSION"

sources=() scripts=()
while IFS= read -r -d '' file; do
    [[ -f $file ]] || continue
    case $file in
    *.c | *.cc | *.h) sources+=("$file") ;;
    *.py) scripts+=("$file") ;;
    esac
done < <(if (($#)); then printf '%s\0' "$@"; else git ls-files -z -co --exclude-standard; fi)

status=0
if ((${#sources[@]})); then
    mode=(-i)
    ((check)) && mode=(--dry-run -Werror)
    printf '%s\0' "${sources[@]}" | xargs -0 -n 32 -P "$JOBS" "$clang_format" "${mode[@]}" || status=1
fi
if ((${#scripts[@]})); then
    mode=()
    ((check)) && mode=(--check)
    "$ruff" format --no-cache --quiet "${mode[@]}" "${scripts[@]}" || status=1
    "$ruff" check --no-cache --quiet "${scripts[@]}" || status=1
fi
exit "$status"
