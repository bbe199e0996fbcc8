"""Names of commits: branches and their protection, tags, and expressions that select commits."""
