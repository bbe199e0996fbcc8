"""Folders and files of this machine: private ones, temporary ones, and streams read in ranges."""
