"""Action files: which hooks run on which events, parsed and validated."""
