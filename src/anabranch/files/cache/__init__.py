"""Cached files of this machine, which its processes share, and files in memory for a full disk."""
