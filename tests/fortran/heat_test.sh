#!/bin/bash
# heat_test.sh PROGRAMS MPIRUN WORDS with RANKS...: both languages write on 1 to 8 ranks and read what both
# have written on other numbers of ranks. The fields do not depend on language or ranks.
source "$(dirname "$0")/on_ranks.sh"
expected=
for language in c fortran; do
    for ranks in 1 2 3 4 8; do
        name=$language-$ranks
        on "$ranks" "$programs/heat-$language" "$directory/pool" "$name" 3 >"$directory/out"
        grep -q "^3 outputs" "$directory/out" || fail "$name: $(cat "$directory/out")"
        # Appended by another number of ranks.
        on $((9 - ranks)) "$programs/heat_read-fortran" "$directory/pool" "$name" >"$directory/fortran"
        on $((ranks % 4 + 1)) "$programs/heat_read-c" "$directory/pool" "$name" >"$directory/c"
        cmp "$directory/c" "$directory/fortran" || fail "C and Fortran read $name differently"
        [[ $(grep -c "degree Celsius, mark" "$directory/c") == 3 ]] || fail "$name: $(cat "$directory/c")"
        found=$(cat "$directory/c")
        [[ ${expected:=$found} == "$found" ]] || fail "$name: $found, expected: $expected"
    done
done
[[ $(sort -u <<<"$expected" | wc -l) == 3 ]] || fail "the outputs are the same: $expected"
# More outputs, along the same array, in the other language.
on 2 "$programs/heat-fortran" "$directory/pool" c-1 2 >/dev/null
on 3 "$programs/heat_read-c" "$directory/pool" c-1 >"$directory/c"
[[ $(wc -l <"$directory/c") == 5 ]] || fail "5 outputs: $(cat "$directory/c")"
# An array that is not there.
if on 2 "$programs/heat_read-fortran" "$directory/pool" nothing 2>"$directory/err"; then
    fail "it read nothing"
fi
grep -q "inquire: .*nothing" "$directory/err" || fail "$(cat "$directory/err")"
