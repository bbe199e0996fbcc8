"""Pull requests, comments and reviews, and requests whose commits arrived by another way."""
