"""Snapshots of a lake on a server.

| module | subject |
|---|---|
| remote_snapshot | how a snapshot is made |
| source | its tree and the bytes of its objects |
| cache_settings | where the tables of commits are kept |
| table_files | tables as files of this machine, which processes share |
| readable_tables | tables of what the user may read, where that is not all |
| batches | reads of many objects by one request |
"""
