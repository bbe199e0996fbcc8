"""The operation log: each change of references is recorded by the write that makes it."""
