"""Records as lakeFS keeps them in its key-value store (protobuf)."""
