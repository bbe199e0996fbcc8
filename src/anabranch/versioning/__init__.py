"""The core: staging, commits, references, history, trees, differences, merges."""
