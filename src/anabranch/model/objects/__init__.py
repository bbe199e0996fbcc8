"""Records of objects, the items of listings, and the addresses of bytes."""
