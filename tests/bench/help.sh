#!/bin/sh
# What a benchmark says of itself: help.sh PROGRAM. Its help has a usage line, options and examples whose
# options it knows; another option is refused by its name.
set -u
program=$1
failed() {
  echo "$program: $1" >&2
  exit 1
}

for word in --help -h; do
  help=$("$program" "$word") || failed "$word ends with $?"
  for part in '^Usage: stepstore' '^Options:$' '^  -h, --help ' '^Examples:$' '^    .*stepstore'; do
    echo "$help" | grep -q -e "$part" || failed "$word does not print '$part'"
  done
done
echo "$help" | grep -q -e ' $' && failed "lines of the help end with a space"
echo "$help" | grep -q -e '.\{101\}' && failed "lines of the help have more than 100 columns"

# All options of the examples are described.
for option in $(echo "$help" | sed -n '/^Examples:$/,$p' | grep -o -e ' --[a-z-]*'); do
  echo "$help" | grep -q -e "^  $option" || failed "an example has $option, which the help does not describe"
done

for option in --no-such-option -x; do
  said=$("$program" "$option" 2>&1)
  status=$?
  [ $status -eq 2 ] || failed "$option ends with $status"
  case $said in
    *"there is no option '$option'; try --help") ;;
    *) failed "$option: $said" ;;
  esac
done
