"""Pull requests, their comments and reviews."""
