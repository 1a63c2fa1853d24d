#!/bin/sh
# rsh_agent.sh ADDRESS WORDS...: what mpirun of bed.py calls in place of ssh. STEPSTORE_BED is the bed's
# directory; it has the process id of the machine of each address.
machine=$(readlink "$STEPSTORE_BED/address/$1") || exit 1
read -r pid began <"$STEPSTORE_BED/$machine.pid"
shift
exec nsenter -t "$pid" $STEPSTORE_BED_SPACES --wdns=/ env $(cat "$STEPSTORE_BED/own/$machine/environment") \
    setpriv --pdeathsig KILL sh -c "$*"
