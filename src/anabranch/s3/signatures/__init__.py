"""Signatures of requests, of versions 4 and 2: `verifier` checks them."""
