"""Use cases of images, which a Lakefile is built into."""
