"""What the project's own tests and benchmarks need."""
