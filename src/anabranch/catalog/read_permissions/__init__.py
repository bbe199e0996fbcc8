"""Pages of listings, changes and conflicts that hold only what a user may read."""
