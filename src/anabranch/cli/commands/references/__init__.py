"""Commands about branches and their protection, and tags."""
