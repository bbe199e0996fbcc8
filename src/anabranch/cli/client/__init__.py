"""The command line's client of a server."""
