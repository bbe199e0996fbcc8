"""Staging areas of branches: their uncommitted changes."""
