#!/usr/bin/env bash
# perfmetadata_test.sh PROGRAM MPIRUN: ADIOS2's metadata benchmark writes through the plugin, and reads back
# in a second run.
set -euo pipefail
program=$1
read -ra start <<<"$2"
folder=$(mktemp -d "${TMPDIR:-/tmp}/stepstore-perf-XXXXXX")
trap 'rm -rf "$folder"' EXIT
parameters=PluginName=stepstore,PluginLibrary=stepstore_adios2,Location=$folder/pool
cd "$folder"
"${start[@]}" "$program" --e3sm --num_steps 5 --filename out --file_writer Plugin "$parameters"
output=$("${start[@]}" "$program" --e3sm --num_steps 5 --filename out --file_reader Plugin "$parameters" 2>&1)
echo "$output"
grep -q 'Arrays = 535, Vars=1000, Attrs=3800, NumBlocks=4' <<<"$output"
