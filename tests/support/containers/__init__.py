"""The steps of a Dockerfile, and a container of what they make, where there is no Docker."""
