"""SQL over objects, and previews of tables: DuckDB in a process of its own, which reads objects
through the server and can reach nothing else.

    server process                                 query process
    queries ── query_run ── readable_objects  ◄──  object_filesystem ── table_files ── DuckDB
                    calls: open, glob, read         statistics, json_values
"""
