"""Commits whose objects are looked up, listed and read as they are, without the reference.

| module | subject |
|---|---|
| snapshot | the objects of one commit |
| full_addresses | where the bytes of entries are |
| source | what a snapshot is read from: tables and bytes |
"""
