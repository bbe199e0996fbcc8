"""Folders and files of this machine: private, temporary and cached ones, streams read in ranges."""
