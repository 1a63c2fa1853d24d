"""python -m stepstore: the program stepstore."""

from stepstore.cli import main

main()
