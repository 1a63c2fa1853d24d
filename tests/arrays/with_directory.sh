#!/bin/sh
# Runs a program with the location of a pool that is not there yet as its last argument: in a new directory,
# or on Ceph, in a namespace of the directory's name, where STEPSTORE_TEST_RADOS names a pool of Ceph.
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
location=$directory/pool
[ -z "$STEPSTORE_TEST_RADOS" ] || location=rados://$STEPSTORE_TEST_RADOS/$(basename "$directory")
"$@" "$location"
