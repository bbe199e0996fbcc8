"""What S3 can be asked for: each operation is declared beside the function that answers it."""
