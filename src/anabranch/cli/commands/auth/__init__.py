"""`auth`: users, groups, policies and access keys."""
