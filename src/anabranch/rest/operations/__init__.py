"""The operations of the REST API: each is declared beside the function that handles it."""
