"""Version control: staging, commits, references, history, trees, diffs and merges."""
