"""Access keys: their secrets, sealed or derived, and files that hold them."""
