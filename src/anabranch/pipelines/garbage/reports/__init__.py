"""Reports of a run: the summary for programs and the page for people."""
