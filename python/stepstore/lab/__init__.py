"""What measures and predicts: the benchmarks, the simulator, and the report of both."""
