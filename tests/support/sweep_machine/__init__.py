"""The state machine of garbage collection: stepped processes, and a model."""
