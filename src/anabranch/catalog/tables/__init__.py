"""Tables of many files: their objects, the differences of their rows, symlink manifests."""
