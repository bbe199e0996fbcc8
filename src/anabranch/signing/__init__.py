"""Signatures of version 4, as S3's: their canonical form, their keys, and signing requests."""
