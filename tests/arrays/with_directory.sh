#!/bin/sh
# Runs a program with the path of a directory that does not exist yet as its last argument.
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
"$@" "$directory/pool"
