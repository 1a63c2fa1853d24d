"""stepstore bench application: a program with adaptive refinement, here and on the simulated cluster."""
