"""What commands print: tables, progress, graphs."""
