"""Runs ADIOS2's staging tests (testing/adios2/engine/staging-common) with BP5 and with the native engine.

A test is a program that writes and one that reads, each on a number of ranks, one after the other or at the
same time (its name then ends in .stream). ADIOS2's own driver starts them. Which tests there are for BP5 is
known here; what each runs is read from ADIOS2's TestSupp.cmake. Prints which pass with BP5 only.

Called by scripts/adios2-suite.sh.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SERIAL = (
    "1x1 1x1.Attrs 1x1.ModAttrs 1x1DefSync 1x1DataWrite 1x1.ShapeChange 1x1VarDestruction 1x1.SpanMinMax "
    "1x1.Local2 1x1Struct 1x1Joined 1x1.LocalVarying FtoC.1x1 CtoF.1x1 FtoF.1x1 TimeoutReader.1x1 "
    "1x1LockGeometry"
)
PARALLEL = (
    "2x1 1x2 3x5 5x3 3x5LockGeometry 2x1.Local 1x2.Local 3x5.Local 5x3.Local 5x3.LocalVarying 2x1ZeroDataVar "
    "2x1ZeroDataR64 2x2.NoData 2x2.HalfNoData 2x1.SharedNothing 2x1.SharedIO 2x1.SharedVar "
    "2x1.SharedNothingSync 2x1.SharedIOSync 2x1.SharedVarSync 5x1Joined FtoC.3x5 CtoF.3x5 FtoF.3x5 "
    "ZFPCompression.1x1 ZFPCompression.3x5"
)
# They write by themselves, or at any rate not while a reader waits.
NO_STREAM = {"1x1DefSync", "1x1DataWrite", "TimeoutReader.1x1"}
FORTRAN_LIBRARIES = ["-ladios2_fortran_mpi", "-ladios2_fortran"]


def commands(source: Path) -> dict[str, list[str]]:
    """By the test's name, what ADIOS2 runs: run_test.py or a program, and arguments."""
    text = (source / "TestSupp.cmake").read_text()
    found = {}
    for name, command in re.findall(r'^set \((\S+)_CMD "(.*)"\s*\)', text, re.MULTILINE):
        command = re.sub(r"\$<TARGET_FILE:(\w+)>", r"\1", command)
        command = re.sub(r",?[WR]?ENGINE_PARAMS", "", command)
        command = command.replace("run_test.py.$<CONFIG>", "run_test.py")
        found[name] = command.split()
    return found


def make_driver(source: Path, programs: Path, mpirun: list[str]) -> None:
    """ADIOS2's driver, which is a template, with our engine among those that it knows."""
    text = (source / "run_test.py.gen.in").read_text()
    text = re.sub(r"\$<TARGET_FILE:(\w+)>", r"\1", text)
    for name, value in {
        "PYTHON_EXECUTABLE": sys.executable,
        "MPIEXEC_EXECUTABLE": mpirun[0],
        "MPIEXEC_EXTRA_FLAGS": ";".join(mpirun[1:]),
        "MPIEXEC_NUMPROC_FLAG": "-n",
    }.items():
        text = text.replace(f"@{name}@", value)
    text = text.replace('"bp5": True,', '"bp5": True, "stepstore": True,', 1)
    # What is not a file engine is read while it is written.
    text = text.replace("args = parser.parse_args()", "args = parser.parse_args()\n" + STREAMING, 1)
    (programs / "run_test.py").write_text(text)


STREAMING = """
if args.engine.endswith('.stream'):
    args.engine = args.engine[:-len('.stream')]
    is_file_engine[args.engine.lower()] = False
"""


def build(source: Path, programs: Path, prefix: Path, libs: Path, name: str) -> str:
    """The error; empty: it is there."""
    program = programs / name
    if program.exists():
        return ""
    link = [f"-L{libs}", f"-Wl,-rpath,{libs}"]
    if name.endswith("_f"):
        files = [str(source / "TestData_mod.F90"), str(source / (name[:-2] + "F.F90"))]
        options = ["-DADIOS2_HAVE_FORTRAN_F03_ARGS", f"-I{prefix}/include/adios2/fortran"]
        command = ["mpifort", "-O0", "-w", f"-J{programs}/{name}.modules", *options, *files]
        (programs / f"{name}.modules").mkdir(exist_ok=True)
        link += FORTRAN_LIBRARIES
    else:
        # as of ADIOS2's testing directories
        folders = [prefix / "include", source, source.parent, source.parent.parent]
        includes = [f"-I{one}" for one in folders]
        command = ["mpicxx", "-std=c++17", "-O0", "-w", "-DADIOS2_USE_MPI=1", *includes]
        command += [str(source / f"{name}.cpp")]
        cxx = "adios2_cxx" if (libs / "libadios2_cxx.so").exists() else "adios2_cxx11"
        link += [f"-l{cxx}_mpi", f"-l{cxx}", "-ladios2_core_mpi", "-ladios2_core", "-lgtest", "-lpthread"]
    done = subprocess.run([*command, *link, "-o", str(program)], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip()[-400:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="testing/adios2/engine/staging-common")
    parser.add_argument("programs", type=Path, help="where they are built")
    parser.add_argument("--prefix", type=Path, required=True, help="of the ADIOS2 with MPI")
    parser.add_argument("--libs", type=Path, required=True, help="the folder of its libraries")
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--wanted", default=".", help="regular expression")
    parser.add_argument("--time", type=float, default=120, help="seconds a test may take")
    options = parser.parse_args()
    options.programs.mkdir(parents=True, exist_ok=True)

    known = commands(options.source)
    names = [name for name in f"{SERIAL} {PARALLEL}".split() if re.search(options.wanted, name)]
    missing = [name for name in names if name not in known]
    if missing:
        sys.exit(f"ADIOS2's TestSupp.cmake does not define {', '.join(missing)}: this is another ADIOS2")
    used = {word for name in names for word in known[name] if re.fullmatch(r"Test\w+", word)}
    used |= {"TestCommonWrite", "TestCommonRead", "TestCommonServer", "TestCommonClient"}
    make_driver(options.source, options.programs, options.mpirun.split())
    with ThreadPoolExecutor(2) as pool:
        for name, error in zip(
            sorted(used),
            pool.map(
                lambda one: build(options.source, options.programs, options.prefix, options.libs, one),
                sorted(used),
            ),
            strict=True,
        ):
            if error:
                print(f"not built: {name}: {error}")

    def passes(name: str, engine: str) -> bool:
        base, _, stream = name.partition(" ")
        command, *arguments = known[base]
        program = options.programs / command
        place = [engine + stream, f"{base}.{engine}{stream}"]
        if command == "run_test.py":
            run = [sys.executable, str(program), *arguments, *place]
            if stream:
                run.append("--rarg=OpenTimeoutSecs=10,BeginStepPollingFrequencySecs=0.1")
        else:
            run = [*options.mpirun.split(), "-n", "1", str(program), *place, *arguments]
        folder = Path(tempfile.mkdtemp(prefix="stepstore-staging-"))
        with (options.programs / f"{base}.{engine}{stream}.log").open("w") as log:
            try:
                done = subprocess.run(
                    run, cwd=folder, stdout=log, stderr=log, timeout=options.time, check=False
                )
            except subprocess.TimeoutExpired:
                print("timed out", file=log)
                return False
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        return done.returncode == 0

    every = [*names, *(f"{name} .stream" for name in names if name not in NO_STREAM)]
    with_bp5 = [name for name in every if passes(name, "BP5")]
    failed = [name for name in with_bp5 if not passes(name, "Stepstore")]
    for name in failed:
        print(f"only with BP5: {name.replace(' ', '')}")
    print(
        f"staging tests that pass with BP5: {len(with_bp5)}; of these with Stepstore: "
        f"{len(with_bp5) - len(failed)}"
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
