#!/bin/bash
# Sourced: PROGRAMS MPIRUN WORDS with RANKS...; gives $programs, a new $directory, and what follows.
set -euo pipefail
programs=$1
shift
words=("$@")
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
on() { # on RANKS COMMAND...
    local ranks=$1
    shift
    "${words[@]/#RANKS/$ranks}" "$@"
}
