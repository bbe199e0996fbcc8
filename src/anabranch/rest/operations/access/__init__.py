"""Users, groups, policies and credentials, and explanations of what they permit."""
