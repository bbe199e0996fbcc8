"""Statistics of the columns of a table's first rows."""
