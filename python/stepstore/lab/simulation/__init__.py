"""The simulated cluster: the timestep engine's own code on virtual ranks (docs/simulation.md)."""
