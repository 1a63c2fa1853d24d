#!/bin/sh
# daos_root.sh CC LIBRARY ROOT: the libraries that build files of programs for DAOS look for below DAOS_ROOT.
#
# ROOT/lib64/libdaos.so is what -ldaos finds at link time. It has the names of the DAOS calls in LIBRARY and
# the SONAME of a real libdaos. A program linked with it asks for libdaos.so.2 at run time, and gets ours or a
# DAOS system's: the first on its run path. Ours, ROOT/lib64/libdaos.so.2, is empty and loads LIBRARY. So
# LIBRARY is in a process only once, under any name. The same holds for libgurt. LIBRARY is looked for where
# it is in a build tree and in a wheel (../../lib), and in an installation (../../..). All bring libuuid, as
# those of DAOS do: FDB's back end leaves it to them.
set -eu
cc=$1 library=$2 root=$3
libraries=$root/lib64
mkdir -p "$libraries/pkgconfig"

# shared NAME SONAME [ARGUMENTS...]: a library, put in its place whole.
shared() {
    name=$1 soname=$2
    shift 2
    "$cc" -shared -fPIC -Wl,-soname,"$soname" "$@" -o "$libraries/$name.new"
    mv -f "$libraries/$name.new" "$libraries/$name"
}

uuid=
if "$cc" -shared -nostdlib -o "$root/probe.so" -x c /dev/null -luuid 2>"$root/probe.log"; then uuid=-luuid; fi
rm -f "$root/probe.so" "$root/probe.log"

# named FILE SONAME PATTERN: what a library is at link time, with the names that match.
named() {
    nm -D --defined-only "$library" |
        awk -v names="$3" '$3 ~ names { print "void " $3 "(void);\nvoid " $3 "(void) {}" }' >"$root/stub.c"
    shared "$1" "$2" "$root/stub.c" -Wl,--no-as-needed $uuid
    rm -f "$root/stub.c"
}
# loading FILE SONAME [ARGUMENTS...]: a library that loads LIBRARY, and is empty without arguments.
loading() {
    file=$1 soname=$2
    shift 2
    shared "$file" "$soname" -Wl,--no-as-needed "$library" $uuid -Wl,--enable-new-dtags -Wl,-z,origin \
        '-Wl,-rpath,$ORIGIN/../../lib:$ORIGIN/../../..' "$@"
}

named libdaos.so libdaos.so.2 '^(d|daos)_'
loading libdaos.so.2 libdaos.so.2 -nostdlib -x c /dev/null
named libgurt.so libgurt.so.4 '^d_'
loading libgurt.so.4 libgurt.so.4 -nostdlib -x c /dev/null
# It has one name at link time and at run time, so it calls LIBRARY.
loading libduns.so libduns.so -O2 -I"$root/include" "$(dirname "$0")/duns_names.c"

# Programs for DAOS are also linked with -ldaos_common. What they take from there is in libdaos here, so this
# one is empty: it only has to be found.
shared libdaos_common.so libdaos_common.so -nostdlib -x c /dev/null

cat >"$libraries/pkgconfig/daos.pc" <<'END'
prefix=${pcfiledir}/../..
includedir=${prefix}/include
libdir=${prefix}/lib64

Name: daos
Description: The DAOS client API, by Stepstore
Version: 2.6.5
Cflags: -I${includedir}
Libs: -L${libdir} -Wl,-rpath,${libdir} -ldaos
END
