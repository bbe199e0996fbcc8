"""Pages of docs/ that are made from the code, whole or some of their tables: `make reference`."""
