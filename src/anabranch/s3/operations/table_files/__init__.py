"""Files of tables, at `s3://REPO/.tables/AREA/…`: read, listed, and written once."""
