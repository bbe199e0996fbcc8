"""`bisect`: find the first commit that is bad."""
