"""Lua hooks: scripts in a process of their own, with lakeFS's libraries.

`hook` is the hook, `script` what runs in the process: it loads a script into the `sandbox`, whose
Lua side is `sandbox.lua`, and gives it `libraries/`.
"""
