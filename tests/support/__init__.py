"""Support code of the project's own tests and benchmarks."""
