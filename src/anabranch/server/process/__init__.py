"""Processes of a server, and the sockets and files they hold."""
