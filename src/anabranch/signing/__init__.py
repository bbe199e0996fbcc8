"""Request signatures: AWS version 4 with its canonical form and keys, Azure SAS, Google V4."""
