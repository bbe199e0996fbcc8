"""Histories in git, and histories recorded from lakeFS."""
