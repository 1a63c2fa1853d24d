"""Benchmarks that run programs of others next to ours: ADIOS2's engines through one and the same program."""
