"""Backups of an installation in a folder or a bucket: references, tables and objects."""
