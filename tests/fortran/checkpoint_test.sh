#!/bin/bash
# checkpoint_test.sh PROGRAMS MPIRUN WORDS with RANKS...: a checkpoint of either language is restarted by both
# on other numbers of ranks, with the same end.
source "$(dirname "$0")/on_ranks.sh"
restart() { # restart LANGUAGE RANKS LOCATION
    on "$2" "$programs/checkpoint-$1" "$3" restart >"$directory/out" || fail "$*: $(cat "$directory/out")"
    grep -q "^from step 10 on $2 ranks: the same end, bit for bit" "$directory/out" ||
        fail "$*: $(cat "$directory/out")"
}
for language in c fortran; do
    for ranks in 1 2 5 8; do
        location=$directory/$language-$ranks
        on "$ranks" "$programs/checkpoint-$language" "$location" run >"$directory/out"
        grep -q "^stored a checkpoint after 10 steps, and the end after 20" "$directory/out" ||
            fail "$(cat "$directory/out")"
        restart c $((9 - ranks)) "$location"
        restart fortran $((ranks % 7 + 1)) "$location"
    done
done
if on 2 "$programs/checkpoint-c" "$directory/nothing" restart 2>"$directory/err"; then
    fail "it read nothing"
fi
grep -q "open: .*nothing" "$directory/err" || fail "$(cat "$directory/err")"
