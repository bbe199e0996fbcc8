"""Hooks that run in a process of their own, so that they can be stopped whatever they do.

`isolated` is the hook that the engine runs, `hook_process` the process, in which an ordinary hook
runs with a context whose lake and output are calls: `remote_lake` makes them, `lake_calls` performs
them.
"""
