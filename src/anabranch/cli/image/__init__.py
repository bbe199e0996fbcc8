"""`image`: what images can be asked on the command line."""
