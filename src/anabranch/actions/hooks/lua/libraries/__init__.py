"""The libraries of Lua hooks: those of lakeFS, under their names and with their functions.

A library is a mapping of names to functions of Python; the types of parameters say how arguments
are converted. `registry` knows the libraries.
"""
