"""Processes of a server, their sockets and their file descriptors."""
