"""Proofs of identity: signatures, tokens, logins of the page and of the command line."""
