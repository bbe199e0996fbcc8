"""Use cases of garbage collection: rules, preparations for other collectors, sweeps."""
