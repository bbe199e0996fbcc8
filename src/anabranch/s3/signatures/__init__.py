"""Verification of request signatures, AWS versions 4 and 2; `verifier` is the entry point."""
