"""A Model Context Protocol server over a lake: tools, resources and prompts; an extra.

Tools are requests of the REST API, made as the caller: the package holds no rights of its own.
"""
