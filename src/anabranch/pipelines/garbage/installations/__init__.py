"""Where a run reads references from: a key-value store or a server."""
