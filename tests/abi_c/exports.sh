#!/bin/sh
# exports.sh LIBRARY: fails, with their names, when it exports anything but the API; and when it exports
# nothing.
set -eu
exported=$(nm -D --defined-only "$1" | awk '{ print $3 }')
echo "$exported" | grep -q '^daos_kv_put$' || { echo "daos_kv_put is not exported"; exit 1; }
others=$(echo "$exported" | grep -Ev '^(daos_|d_|stepstore_)' || true)
[ -z "$others" ] || { echo "exported without need:"; echo "$others"; exit 1; }
