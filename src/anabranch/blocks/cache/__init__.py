"""On-disk cache of immutable files from a block store."""
