#!/bin/sh
# dfs_root.sh CC LIBRARY ROOT: ROOT/lib64/libdfs.so. -ldfs finds it, and programs linked with it ask for it at
# run time by DAOS's name, which has no version. It is a filter: it has the names of the calls in LIBRARY, and
# the loader takes each from there. So LIBRARY is in a process only once, under any name. LIBRARY is looked
# for as libdaos.so.2 looks for its own (src/daos/daos_root.sh).
set -eu
cc=$1 library=$2 root=$3
libraries=$root/lib64
mkdir -p "$libraries"
nm -D --defined-only "$library" |
    awk '$3 ~ /^dfs_/ { print "void " $3 "(void);\nvoid " $3 "(void) {}" }' >"$root/dfs_stub.c"
"$cc" -shared -fPIC -Wl,-soname,libdfs.so "-Wl,--filter=$(basename "$library")" -Wl,--enable-new-dtags \
    -Wl,-z,origin '-Wl,-rpath,$ORIGIN/../../lib:$ORIGIN/../../..' "$root/dfs_stub.c" \
    -o "$libraries/libdfs.so.new"
mv -f "$libraries/libdfs.so.new" "$libraries/libdfs.so"
rm -f "$root/dfs_stub.c"
