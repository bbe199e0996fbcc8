"""The parts of versioning that garbage collection uses: retention, running sweeps, pins."""
