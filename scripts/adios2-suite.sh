#!/usr/bin/env bash
# Runs ADIOS2's own tests of its file engines and operators (testing/adios2/engine/bp of its sources) with BP5
# and with the native engine, and prints which cases pass with which. A case is one GoogleTest case. With the
# tests of derived variables and of Kokkos if the ADIOS2 has these, and with MPI also the staging tests
# (scripts/adios2_staging.py).
#
#   scripts/adios2-suite.sh [--release R | --adios2 DIR --source DIR] [REGEX]
#
# REGEX: the programs, and staging tests, whose names match (default: all). The ADIOS2 is the one that
# scripts/adios2-mpi.sh builds; or a release of PyPI (scripts/adios2_release.py), for several ranks built with
# MPI, once; or any installation with its sources. For the last two the engine is built (stepstore
# adios2-build), unless STEPSTORE_ADIOS2_ADAPTERS names a folder that has it.
#
# Ends with 1 if BP5 passes a case that Stepstore fails, unless it is known (below).
#
# Needs what `make setup` makes, and a build of the plugin. The programs stay in the cache. Environment:
# PRESET (default release), RANKS (default 1: the serial libraries; more: with MPI), TIME (seconds a program
# may take, 120), KOKKOS (where Kokkos is installed, default /usr), and what scripts/lib.sh names.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
release=${ADIOS2_VERSION%.*} prefix='' source='' wanted=.
while (($#)); do
    case $1 in
    --release) release=$2 && shift ;;
    --adios2) prefix=$(realpath "$2") && shift ;;
    --source) source=$(realpath "$2") && shift ;;
    -*) die "there is no option $1: see the head of $0" ;;
    *) wanted=$1 ;;
    esac
    shift
done
ranks=${RANKS:-1} kind=serial
((ranks == 1)) || kind=mpi
built=$STEPSTORE_BUILD/${PRESET:-release}
library=$built/lib/libstepstore_adios2_preload.so
[[ -f $library ]] || die "there is no $library: build it first (make test, or cmake --build)"
python=${PYTHON:-$STEPSTORE_VENV/bin/python}
unset GTEST_BRIEF # its cases are counted by what they print
export GTEST_COLOR=no

own=no
if [[ -n $prefix ]]; then
    [[ -n $source ]] || die "--adios2 needs the sources of the same release: --source DIR"
    suite=$STEPSTORE_CACHE/adios2-suite${prefix//\//-}
else
    version=$release
    if [[ $release == "${ADIOS2_VERSION%.*}" ]]; then
        own=yes version=$ADIOS2_VERSION
        [[ -f $ADIOS2_MPI_PREFIX/.complete ]] ||
            die "there is no ADIOS2 in $ADIOS2_MPI_PREFIX: run scripts/adios2-mpi.sh"
    fi
    option=()
    [[ $own == no ]] && ((ranks == 1)) || option=(--sources)
    places=$("$python" "$STEPSTORE_ROOT/scripts/adios2_release.py" "${option[@]}" "$version") ||
        die "ADIOS2 $release cannot be downloaded"
    { read -r prefix && read -r source; } <<<"$places"
    suite=${source%/source}
    if [[ $own == yes ]]; then
        prefix=$ADIOS2_MPI_PREFIX
    elif ((ranks > 1)); then
        prefix=$("$STEPSTORE_ROOT/scripts/adios2-mpi.sh" --release "$version" | tee /dev/stderr |
            sed -n '$s/.* is in //p')
    fi
fi
for libs in "$prefix" "$prefix/lib" "$prefix/lib64" "$prefix"/lib/*-linux-gnu; do
    [[ ! -e $libs/libadios2_core.so ]] || break
done
config=$prefix/include/adios2/common/ADIOSConfig.h
[[ -e $libs/libadios2_core.so && -f $config ]] || die "$prefix has no ADIOS2"
# has FEATURE: whether this ADIOS2 was built with it.
has() { grep -qx "#define ADIOS2_HAVE_$1" "$config"; }
if [[ $own == no && -z ${STEPSTORE_ADIOS2_ADAPTERS:-} ]]; then
    export STEPSTORE_ADIOS2_ADAPTERS=$suite/$kind/engine
    mkdir -p "$STEPSTORE_ADIOS2_ADAPTERS"
    PYTHONPATH=$built/python "$python" -m stepstore adios2-build --adios2 "$prefix" --source "$source"
fi

cxx=cxx
[[ -e $libs/libadios2_cxx.so ]] || cxx=cxx11 # before 2.11
libraries=(-ladios2_c "-ladios2_$cxx" -ladios2_core)
flags=(-O0 -w)
if ((ranks > 1)); then
    [[ -e $libs/libadios2_core_mpi.so ]] || die "the ADIOS2 in $prefix has no MPI: leave RANKS at 1"
    compiler=mpicxx other=MPI_NONE
    libraries=(-ladios2_c_mpi "-ladios2_${cxx}_mpi" "${libraries[@]}" -ladios2_core_mpi -ladios2_core)
    flags+=(-DADIOS2_USE_MPI=1)
    run=(mpirun -n "$ranks" --oversubscribe --allow-run-as-root)
    mpirun --version | grep -q 'Open MPI' || run=(mpirun -n "$ranks")
else
    compiler=${CXX:-c++} other=MPI_ONLY
    run=()
fi
tests=$source/testing/adios2/engine/bp
folders=("$tests" "$tests/operations")
! has DERIVED_VARIABLE || folders+=("$source/testing/adios2/derived")
kokkos=()
if has KOKKOS; then
    folders+=("$source/testing/adios2/gpu-backend")
    kokkos=("-I${KOKKOS:=/usr}/include" -fopenmp "-L$KOKKOS/lib" "-Wl,-rpath,$KOKKOS/lib" -lkokkoscore)
fi
mkdir -p "$suite/$kind"
includes=("$prefix/include" "$source/testing/adios2" "$tests" "$(dirname "$tests")")
flags+=(-std=c++17 "-DXML_CONFIG_DIR=$tests/operations" "${includes[@]/#/-I}")
flags+=(-idirafter "$source/source") # core/GetContext.h is not installed
# Half of the time goes into these headers.
common=$suite/$kind/common.h
if [[ ! -f $common.gch ]]; then
    printf '#include <%s>\n' adios2.h gtest/gtest.h >"$common"
    "$compiler" "${flags[@]}" -c -x c++-header "$common" -o "$common.gch"
fi
build() {
    local file=$1 program=$2 more=()
    [[ ! -x $program ]] || return 0
    case $file in
    */derived/*) # it uses the default engine
        sed -E 's/adios2::IO (\w+) = .*;/&\1.SetEngine(std::getenv("ADIOS2_SUITE_ENGINE"));/' \
            "$file" >"$program.cpp"
        file=$program.cpp
        ;;
    */gpu-backend/*) more=("${kokkos[@]}") ;;
    esac
    "$compiler" "${flags[@]}" -include "$common" "$file" -o "$program" \
        -L"$libs" -Wl,-rpath,"$libs" "${libraries[@]}" \
        -Wl,--unresolved-symbols=ignore-in-shared-libs -lgtest -lpthread "${more[@]}" \
        >"$program.log" 2>&1 || echo "not built: $(basename "$file") (log: $program.log)"
}
# Programs that look at BP's files themselves, or read them with ADIOS2's default engine. LargeBlocks includes
# what only a build of ADIOS2 has, and Cuda needs a device.
not_ours='CUDA|FORTRANTOCPP|DATASIZEAGGREGATE|DIRECTIO|METADATAFDCLOSE|BUFFERSIZE|INQUIREDEFINE|SELECTIONSON'
not_ours+='|ZFPCONFIG|PROFILINGJSON|LARGEBLOCKS'
# Operators that this ADIOS2 does not have.
for operator in BLOSC2 BZIP2 MGARD PNG PRODM SZ3 SZ ZFP; do
    has "$operator" || not_ours+="|${operator/BLOSC2/BLOSC}"
done
# Cases that Stepstore need not pass: expression and reason.
declare -A known=(
    ['WriteReadLocal2DChangeCount|WriteReadLocalVaryingNumberOfBlocks']='reads with the default engine'
    ['NonReentrantTransportRejected']='transports have no effect here'
    ['BPWRPNG2D']='two operators: BP5 drops the second in the first step, Stepstore refuses'
)
files=()
for folder in "${folders[@]}"; do
    for file in "$folder"/TestBP*.cpp; do
        name=$(basename "$file" .cpp)
        name=${name#TestBP}
        [[ $name =~ $wanted && ! ${name^^} =~ $not_ours ]] || continue
        # One that ADIOS2 does not build has the name of another.
        [[ $folder == "$tests" || ! -e $tests/TestBP$name.cpp ]] || continue
        ! grep -q "($name $other" "$folder/CMakeLists.txt" || continue # not for so many ranks
        files+=("$file")
        while (($(jobs -rp | wc -l) >= JOBS)); do wait -n || true; done
        build "$file" "$suite/$kind/$name" &
    done
done
wait
declare -A passed
for file in "${files[@]}"; do
    name=$(basename "$file" .cpp)
    name=${name#TestBP}
    program=$suite/$kind/$name
    [[ -x $program ]] || continue
    for engine in BP5 Stepstore; do
        work=$(mktemp -d "${TMPDIR:-/tmp}/stepstore-suite-XXXXXX")
        (
            cd "$work"
            export ADIOS2_SUITE_ENGINE=$engine LD_PRELOAD=$library
            timeout -k 5 "${TIME:-120}" "${run[@]}" "$program" "$engine" || true
        ) >"$program.$engine.log" 2>&1
        rm -rf "$work"
        # Of several ranks each says so: a case that failed on one has failed.
        while read -r case; do
            passed[$name/$case]+=" $engine"
        done < <(sed -n 's/^.*\[ *\(OK\|FAILED\) *\] \([^ ,(]*\).*/\1 \2/p' "$program.$engine.log" |
            awk '$1 == "FAILED" { bad[$2] } { seen[$2] } END { for (c in seen) if (!(c in bad)) print c }')
    done
done
both=0 only_theirs=() unexpected=0
for case in "${!passed[@]}"; do
    case ${passed[$case]} in
    *BP5*Stepstore*) both=$((both + 1)) ;;
    *BP5*)
        note=''
        for expression in "${!known[@]}"; do
            [[ ! $case =~ $expression ]] || note=" (known: ${known[$expression]})"
        done
        [[ -n $note ]] || unexpected=1
        only_theirs+=("only with BP5: $case$note")
        ;;
    esac
done
((${#only_theirs[@]} == 0)) || printf '%s\n' "${only_theirs[@]}" | sort
say "cases that pass with BP5: $((both + ${#only_theirs[@]})); of these with Stepstore: $both"
((both > 0)) || unexpected=1
if ((ranks > 1)); then
    # What OpenMPI needs where there are fewer cores than ranks.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    LD_PRELOAD=$library "$python" "$STEPSTORE_ROOT/scripts/adios2_staging.py" \
        "$(dirname "$tests")/staging-common" "$suite/staging" --prefix "$prefix" --libs "$libs" \
        --mpirun mpirun --wanted "$wanted" --time "${TIME:-120}" || unexpected=1
fi
exit "$unexpected"
