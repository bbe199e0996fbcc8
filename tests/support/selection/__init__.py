"""The tests that a change needs first: `make test-changed` runs `python -m support.selection`.

What changed is what git says. A graph of imports, which includes fixtures and the modules that are
imported by name, leads from there to files of tests. They are ranked by how close they are, and as
many of them run as a budget of seconds permits. The verdict is a quick one; `make test` proves.
"""
