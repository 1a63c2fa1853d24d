#!/bin/sh
# Runs a program with the location of a pool that is not there yet as its last argument. It lies in a new
# directory. Where STEPSTORE_TEST_RADOS names a pool of Ceph, it is a namespace called after the directory.
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
location=$directory/pool
[ -z "$STEPSTORE_TEST_RADOS" ] || location=rados://$STEPSTORE_TEST_RADOS/$(basename "$directory")
"$@" "$location"
