"""Records of users, groups, keys and policies: where they are stored, and changes of them."""
