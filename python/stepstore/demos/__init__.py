"""What `stepstore demo` runs: one module for each demonstration."""
