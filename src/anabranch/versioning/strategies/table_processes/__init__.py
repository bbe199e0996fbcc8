"""Tables, JSON documents and texts are merged and compared in processes of their own.

A small file may expand to gigabytes, a damaged one may crash a library, and a table may take hours:
all of it ends one process, which has limits of memory and time, and not the server.

`table_processes` starts them and answers their calls, `table_process` is the side of the process,
`document_process` that of one without the libraries of tables.
`process_strategy` merges, `comparisons` compare; `compared_tables` is how the process compares
tables of many files. `messages` are what both sides send.
"""
