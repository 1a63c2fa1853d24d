"""How much the tests that attack pools in files do. The normal suite has a few rounds of each.
STEPSTORE_NODES_ROUNDS=200 is the full run."""

import os

ROUNDS = int(os.environ.get("STEPSTORE_NODES_ROUNDS", "3"))
SECONDS = max(4.0, ROUNDS * 1.5)  # of readers beside writers
