#!/bin/sh
# exports.sh LIBRARY: fails, with their names, when it exports anything but dfs_*; and when it exports
# nothing.
set -eu
exported=$(nm -D --defined-only "$1" | awk '{ print $3 }')
echo "$exported" | grep -q '^dfs_open$' || { echo "dfs_open is not exported"; exit 1; }
others=$(echo "$exported" | grep -v '^dfs_' || true)
[ -z "$others" ] || { echo "exported without need:"; echo "$others"; exit 1; }
