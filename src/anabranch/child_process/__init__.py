"""Processes that run code which may hang, crash or use too much memory, and messages with them.

`child` is the side that starts such a process, `parent` the side of the process, `limits` what the
process may use. A message is a JSON object in one line; the member `bytes` says how many raw bytes
follow the line. First the parent sends a request, then the child its calls, each of which has a
result, and at last its answer.

`fork_server` starts processes that have libraries imported, and `supervision` ends them in time;
`forking` is the side of the processes.
"""
