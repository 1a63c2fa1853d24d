#!/bin/sh
# link_stub.sh CC LIBRARY DIRECTORY: what -ldaos finds at link time. DIRECTORY/libdaos.so has the names of the DAOS calls in
# LIBRARY and the SONAME of a real libdaos, so that a program linked with it asks for libdaos.so.2 at run time: ours
# (DIRECTORY/libdaos.so.2) or a DAOS system's, whichever its run path finds. It is never loaded itself.
set -eu
cc=$1 library=$2 directory=$3
mkdir -p "$directory"
nm -D --defined-only "$library" | awk '$3 ~ /^(d|daos)_/ { print "void " $3 "(void);\nvoid " $3 "(void) {}" }' >"$directory/stub.c"
"$cc" -shared -fPIC -Wl,-soname,libdaos.so.2 "$directory/stub.c" -o "$directory/libdaos.so.new"
mv -f "$directory/libdaos.so.new" "$directory/libdaos.so"
rm -f "$directory/stub.c"
ln -sfn "../$(basename "$library")" "$directory/libdaos.so.2"

# Programs for DAOS are also linked with -ldaos_common and -lgurt. All names they take from there are in libdaos.so.2 here, so
# these two are empty: they only have to be found.
for name in libdaos_common.so libgurt.so.4; do
    "$cc" -shared -fPIC -nostdlib -Wl,-soname,"$name" -x c /dev/null -o "$directory/$name.new"
    mv -f "$directory/$name.new" "$directory/$name"
done
ln -sfn libgurt.so.4 "$directory/libgurt.so"
