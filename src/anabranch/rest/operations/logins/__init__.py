"""Logins with credentials, in browsers, and with tokens of identity providers."""
