"""Multipart uploads to block stores."""
