"""Commands about repositories, and dumps of their references."""
