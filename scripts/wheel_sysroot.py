"""Makes a folder for GCC's --sysroot with which programs run on an older glibc than that of this machine.

wheel_sysroot.py FOLDER: FOLDER is made anew, and is complete when FOLDER/.complete is there.

- glibc: the headers of 2.28 and libraries without code, which have the symbols that 2.28 had. They are those
  that zig links against (the Python package ziglang), so no old system is needed.
- libstdc++: a library without code with the symbols of GLIBCXX_3.4.24 (GCC 8), and after it GCC's own
  libstdc++.a. Younger symbols are linked in, and hidden. All else is shared with the process, as exceptions,
  streams and locales must be.
docs/design/wheels.md says why.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

GLIBC = "2.28"
NEWEST = {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}  # auditwheel's manylinux_2_28
TARGET = "x86_64-linux-gnu"
CLOCKS = ("COND_CLOCKWAIT", "MUTEX_CLOCKLOCK", "RWLOCK_CLOCKLOCK")  # calls of glibc 2.30
HEADERS = ("lmdb.h", "xxhash.h", "zstd.h", "zstd_errors.h", "uuid", "rados", "nlohmann")
LINK = """#!/bin/bash
# The libraries of others after that of C++. Some show parts of their own libstdc++, without versions, and the
# first definition counts.
words=() others=() before=
for word; do
    case $before,$word in
        -o,*) words+=("$word") ;;
        *,/*.so | *,/*.so.[0-9]*) others+=("$word") ;;
        *) words+=("$word") ;;
    esac
    before=$word
done
exec "${words[@]}" -lstdc++ "${others[@]}"
"""
TOOLCHAIN = """set(CMAKE_C_COMPILER gcc)
set(CMAKE_CXX_COMPILER g++)
set(CMAKE_SYSROOT {root})
foreach(language C CXX)
  # Before GCC's own folders, in which the libraries of this machine are.
  set(CMAKE_${{language}}_FLAGS_INIT "-B{root}/usr/lib")
endforeach()
set(CMAKE_CXX_LINKER_LAUNCHER {root}/link)
string(APPEND CMAKE_CXX_FLAGS_INIT " -isystem {root}/first")
foreach(kind EXE SHARED MODULE)
  # The libraries of this machine that ours are linked to (MPI, Ceph, libgcc_s) need its younger glibc.
  set(CMAKE_${{kind}}_LINKER_FLAGS_INIT "-Wl,--allow-shlib-undefined -Wl,--exclude-libs,libstdc++_young.a")
endforeach()
"""
LIBRARIES = ("c", "m", "pthread", "dl", "rt", "util", "resolv")


def run(*words: object, **more) -> str:
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout + done.stderr


def zig_files(work: Path) -> tuple[Path, dict[str, Path]]:
    """The folder of zig's headers, and the files of glibc by name that zig makes for a program."""
    import ziglang

    zig = Path(ziglang.__file__).parent / "zig"
    environment = os.environ | {f"ZIG_{kind}_CACHE_DIR": str(work / "zig") for kind in ("GLOBAL", "LOCAL")}
    source = work / "program.c"
    source.write_text("int main(void) { return 0; }\n")
    said = run(
        zig, "cc", "-v", "-target", f"{TARGET}.{GLIBC}", "-fPIE", source, "-o", work / "program",
        *(f"-l{name}" for name in LIBRARIES if name != "c"), env=environment, cwd=work,
    )  # fmt: skip
    found = {
        Path(word).name: work / word for word in said.split() if word.endswith((".o", ".a")) or ".so." in word
    }
    return zig.parent / "lib/libc/include", found


def put_glibc(root: Path, work: Path) -> None:
    headers, files = zig_files(work)
    include = root / "usr/include"
    for part in ("any-linux-any", "x86-linux-any", "generic-glibc", "x86-linux-gnu"):
        shutil.copytree(headers / part, include, dirs_exist_ok=True)
    (include / "sys/single_threaded.h").unlink()  # of 2.32; libstdc++ asks whether it is there
    features = include / "features.h"
    minor = GLIBC.split(".")[1]
    text = features.read_text()
    # The standards of 2.28, which Python's headers repeat.
    text = re.sub(r"(define\s+_POSIX_C_SOURCE\s+)202405L", r"\g<1>200809L", text)
    text = re.sub(r"(define\s+_XOPEN_SOURCE\s+)800", r"\g<1>700", text)
    features.write_text(f"#ifndef __GLIBC_MINOR__\n#define __GLIBC_MINOR__ {minor}\n#endif\n{text}")
    lib = root / "usr/lib"
    lib.mkdir()
    for name in ("Scrt1.o", "libc_nonshared.a", "libld.so.2", "libc.so.6"):
        if name not in files:
            sys.exit(f"zig links a program without {name}; it has {sorted(files)}")
    for name, path in files.items():
        if ".so." in name or name in ("Scrt1.o", "libc_nonshared.a"):
            shutil.copy(path, lib / name)
    os.rename(lib / "libld.so.2", lib / "ld-linux-x86-64.so.2")
    for name in LIBRARIES[1:]:
        [path] = lib.glob(f"lib{name}.so.*")
        (lib / f"lib{name}.so").symlink_to(path.name)
    # Programs built for glibc 2.34 and later do not name libpthread and libdl: they are in its libc.
    script = (
        "GROUP ( {0}libc.so.6 {0}libc_nonshared.a {0}libpthread.so.0 {0}libdl.so.2 AS_NEEDED ( {0}{1} ) )\n"
    )
    (lib / "libc.so").write_text(script.format("/usr/lib/", "ld-linux-x86-64.so.2"))
    # What begins and ends functions that nothing has: the same in every glibc.
    for name in ("crti.o", "crtn.o"):
        shutil.copy(run("gcc", f"-print-file-name={name}").strip(), lib / name)


def old_symbols(library: Path) -> dict[str, tuple[str, str, int]]:
    """Of each symbol with a version that is old enough: its newest such version, its type and its size."""
    symbols: dict[str, tuple[str, str, int]] = {}
    for line in run("readelf", "--dyn-syms", "--wide", library).splitlines():
        fields = line.split()
        if len(fields) != 8 or fields[6] == "UND" or "@" not in fields[7]:
            continue
        name, version = re.split("@@?", fields[7])
        kind, _, number = version.partition("_")
        limit = NEWEST.get(kind)
        if not limit or not re.fullmatch(r"[\d.]+", number):
            continue
        parts = tuple(map(int, number.split(".")))
        if parts > limit:
            continue
        have = symbols.get(name)
        if not have or parts > tuple(map(int, have[0].split("_")[1].split("."))):
            symbols[name] = (version, fields[3], int(fields[2], 0))
    return symbols


def put_libstdcxx(root: Path, work: Path) -> None:
    library = Path(run("g++", "-print-file-name=libstdc++.so").strip()).resolve()
    archive = Path(run("g++", "-print-file-name=libstdc++.a").strip()).resolve()
    versions = defaultdict(list)
    text, data = [".text"], []
    for name, (version, kind, size) in old_symbols(library).items():
        versions[version].append(name)
        lines = [f".globl {name}", f".type {name}, @{'function' if kind == 'FUNC' else 'object'}", f"{name}:"]
        if kind == "FUNC":
            text += lines
        elif kind == "TLS":
            data += ['.section .tbss,"awT",@nobits', *lines, f".size {name}, {size}", f".zero {size}"]
            data[-4] = f".type {name}, @tls_object"
        else:
            data += [".data", *lines, f".size {name}, {size}", f".zero {max(size, 1)}"]
    (work / "stdcxx.s").write_text("\n".join([*text, ".byte 0", *data, '.section .note.GNU-stack,""', ""]))
    before = ""
    with open(work / "stdcxx.map", "w") as script:
        for version in sorted(versions, key=lambda v: [int(n) for n in re.findall(r"\d+", v)]):
            script.write(f"{version} {{ global: {'; '.join(versions[version])};")
            script.write("".join([" local: *;" if not before else "", f" }} {before};\n"]))
            before = before or version
    lib = root / "usr/lib"
    flags = [
        "-nostdlib",
        "-shared",
        "-Wl,-soname,libstdc++.so.6",
        f"-Wl,--version-script={work / 'stdcxx.map'}",
    ]
    run("gcc", *flags, work / "stdcxx.s", "-o", lib / "libstdc++.so.6")
    young = lib / "libstdc++_young.a"
    shutil.copy(archive, young)
    # libstdc++.a asks glibc 2.32 and later whether there is one thread, to count without atomics.
    (work / "single.c").write_text('__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;\n')
    run("gcc", "-c", "-fPIC", work / "single.c", "-o", work / "single.o")
    run("ar", "r", young, work / "single.o")
    (lib / "libstdc++.so").write_text("INPUT ( /usr/lib/libstdc++.so.6 /usr/lib/libstdc++_young.a )\n")
    # The headers of C++ are GCC's, but for what they know of the glibc that GCC was built with.
    (work / "config.cc").write_text("#include <bits/c++config.h>\n")
    [config] = [
        word for word in run("g++", "-M", work / "config.cc").split() if word.endswith("/c++config.h")
    ]
    (root / "first/bits").mkdir(parents=True)
    young = "".join(f"#undef _GLIBCXX_USE_PTHREAD_{name}\n" for name in CLOCKS)
    (root / "first/bits/c++config.h").write_text(Path(config).read_text() + young)


def put_libraries(root: Path) -> None:
    """The libraries of the distribution that need no glibc as young as its own, and headers. librados stays
    outside of the wheel. zstd is in the library of the Python package blosc2, its headers are here."""
    include, lib = root / "usr/include", root / "usr/lib"
    for name in HEADERS:
        if Path("/usr/include", name).exists():
            (include / name).symlink_to(f"/usr/include/{name}")
    for name in ("lmdb", "xxhash", "uuid", "rados"):
        library = Path(run("gcc", f"-print-file-name=lib{name}.so").strip())
        if library.is_absolute():
            (lib / library.name).symlink_to(library)
    (root / "usr/share").mkdir()
    shutil.copytree("/usr/share/cmake/nlohmann_json", root / "usr/share/cmake/nlohmann_json")


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    if (folder / ".complete").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "usr").mkdir(parents=True)
    with tempfile.TemporaryDirectory() as work:
        put_glibc(folder, Path(work))
        put_libstdcxx(folder, Path(work))
        put_libraries(folder)
    (folder / "link").write_text(LINK)
    (folder / "link").chmod(0o755)
    (folder / "toolchain.cmake").write_text(TOOLCHAIN.format(root=folder))
    (folder / ".complete").touch()


if __name__ == "__main__":
    main()
