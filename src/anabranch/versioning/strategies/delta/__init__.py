"""The strategy `delta`: merges the logs of Delta Lake tables.

The destination's commits stay as they are. The source's commits since the logs forked follow them
under new version numbers, if Delta's rules for concurrent transactions allow that.
"""
