"""Anabranch: Git for data lakes."""
