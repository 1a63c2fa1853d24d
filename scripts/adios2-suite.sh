#!/usr/bin/env bash
# Runs ADIOS2's own tests of its file engines and operators (testing/adios2/engine/bp of the source
# distribution) with BP5 and with the native engine, and prints which cases pass with which. A case is one
# GoogleTest case. With MPI also the staging tests (scripts/adios2_staging.py).
#
#   scripts/adios2-suite.sh [REGEX]    the programs, and staging tests, whose names match (default: all)
#
# Ends with 1 where BP5 passes a case that Stepstore fails, unless it is known (below).
#
# Needs what `make setup` and scripts/adios2-mpi.sh make, and a build of the plugin. The programs stay in the
# cache. Environment: PRESET (default release), RANKS (default 1: the serial libraries; more: with MPI), TIME
# (seconds a program may take, 120), and what scripts/lib.sh names.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
wanted=${1:-.}
ranks=${RANKS:-1}
library=$STEPSTORE_BUILD/${PRESET:-release}/lib/libstepstore_adios2_preload.so
[[ -f $library ]] || die "there is no $library: build it first (make test, or cmake --build)"
[[ -f $ADIOS2_MPI_PREFIX/.complete ]] ||
    die "there is no ADIOS2 in $ADIOS2_MPI_PREFIX: run scripts/adios2-mpi.sh"
suite=$STEPSTORE_CACHE/adios2-$ADIOS2_VERSION-suite
tests=$suite/source/testing/adios2/engine/bp
log=$STEPSTORE_CACHE/log
python=${PYTHON:-$STEPSTORE_VENV/bin/python}
unset GTEST_BRIEF # its cases are counted by what they print
if [[ ! -d $tests ]]; then
    mkdir -p "$suite/source"
    quiet_step "download the ADIOS2 source distribution" "$log/adios2-suite-download.log" \
        "$python" -m pip download --no-deps --no-binary :all: --no-build-isolation \
        "adios2==$ADIOS2_VERSION" -d "$suite"
    tar -xzf "$suite"/adios2-*.tar.gz -C "$suite/source" --strip-components=1
    rm "$suite"/adios2-*.tar.gz
fi

if ((ranks > 1)); then
    kind=mpi compiler=mpicxx other=MPI_NONE
    libraries=(-ladios2_c_mpi -ladios2_c -ladios2_cxx_mpi -ladios2_cxx -ladios2_core_mpi -ladios2_core)
    flags=(-DADIOS2_USE_MPI=1)
    run=(mpirun -n "$ranks" --oversubscribe --allow-run-as-root)
    mpirun --version | grep -q 'Open MPI' || run=(mpirun -n "$ranks")
else
    kind=serial compiler=${CXX:-c++} other=MPI_ONLY
    libraries=(-ladios2_c -ladios2_cxx -ladios2_core)
    flags=()
    run=()
fi
mkdir -p "$suite/$kind"
includes=("$ADIOS2_MPI_PREFIX/include" "$suite/source/testing/adios2" "$tests" "$(dirname "$tests")"
    "$suite/source/thirdparty/nlohmann_json/nlohmann_json/single_include")
build() {
    local source=$1 program=$2
    [[ ! -x $program ]] || return 0
    "$compiler" -std=c++17 -O0 -w "${flags[@]}" "-DXML_CONFIG_DIR=$tests/operations" \
        "${includes[@]/#/-I}" "$source" -o "$program" \
        -L"$ADIOS2_MPI_PREFIX/lib" -Wl,-rpath,"$ADIOS2_MPI_PREFIX/lib" "${libraries[@]}" -lgtest -lpthread \
        >"$program.log" 2>&1 || echo "not built: $(basename "$source") (log: $program.log)"
}
# Programs that look at BP's files themselves, or read them with ADIOS2's default engine.
not_ours='Cuda|FortranToCpp|DataSizeAggregate|DirectIO|MetadataFDClose|BufferSize|InquireDefine'
not_ours+='|SelectionsOn|ZfpConfig'
# Cases that do so.
known='WriteReadLocal2DChangeCount|WriteReadLocalVaryingNumberOfBlocks'
sources=()
for source in "$tests"/TestBP*.cpp "$tests"/operations/TestBP*.cpp; do
    name=$(basename "$source" .cpp)
    name=${name#TestBP}
    [[ $name =~ $wanted && ! $name =~ $not_ours ]] || continue
    ! grep -q "($name $other" "$(dirname "$source")/CMakeLists.txt" || continue # not for so many ranks
    sources+=("$source")
    while (($(jobs -rp | wc -l) >= JOBS)); do wait -n || true; done
    build "$source" "$suite/$kind/$name" &
done
wait
declare -A passed
for source in "${sources[@]}"; do
    name=$(basename "$source" .cpp)
    name=${name#TestBP}
    program=$suite/$kind/$name
    [[ -x $program ]] || continue
    for engine in BP5 Stepstore; do
        work=$(mktemp -d "${TMPDIR:-/tmp}/stepstore-suite-XXXXXX")
        (cd "$work" && LD_PRELOAD=$library timeout -k 5 "${TIME:-120}" "${run[@]}" "$program" "$engine") \
            >"$program.$engine.log" 2>&1 || true
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
        if [[ $case =~ $known ]]; then note=' (known)'; else unexpected=1; fi
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
        "$(dirname "$tests")/staging-common" "$suite/staging" --prefix "$ADIOS2_MPI_PREFIX" \
        --mpirun mpirun --wanted "$wanted" --time "${TIME:-120}" || unexpected=1
fi
exit "$unexpected"
