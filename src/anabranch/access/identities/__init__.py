"""Users, groups and external principals, and the policies that are attached to them."""
