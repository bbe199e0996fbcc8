"""On-disk cache of the tables of a block store."""
