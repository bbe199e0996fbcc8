"""`diff`: what changed, by path and by row."""
