"""Commands that start, examine and audit servers."""
