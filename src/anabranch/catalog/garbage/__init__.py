"""Use cases of garbage collection: retention rules, preparations for collectors, sweeps, pins."""
