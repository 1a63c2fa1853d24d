#!/bin/sh
# exports.sh LIBRARY SEQUENCES: fails, with their names, if the library exports anything but the API, if it
# exports nothing, and if the program `sequences` does not make one of its calls at random. It also fails if
# the library exports a call that DAOS's library has not.
set -eu
exported=$(nm -D --defined-only "$1" | awk '{ print $3 }')
echo "$exported" | grep -q '^daos_kv_put$' || { echo "daos_kv_put is not exported"; exit 1; }
others=$(echo "$exported" | grep -Ev '^(daos_|d_|stepstore_)' || true)
[ -z "$others" ] || { echo "exported without need:"; echo "$others"; exit 1; }
# A program that uses one of those would not start on a DAOS system.
known=$(grep -v '^#' "$(dirname "$0")/exported_by_daos.txt" | tr ' ' '\n')
ours=$(echo "$exported" | grep -v '^stepstore_' | grep -vxF "$known" || true)
[ -z "$ours" ] || { echo "not exported by DAOS 2.6.5 (exported_by_daos.txt):"; echo "$ours"; exit 1; }
# daos_cont_open2 is daos_cont_open. d_* take no handles, and no sizes.
made=$("$2" --list)
left=$(echo "$exported" | grep -v '^d_' | sed 's/2$//' | sort -u | grep -vxF "$made" || true)
[ -z "$left" ] || { echo "sequences.c has no call of:"; echo "$left"; exit 1; }
