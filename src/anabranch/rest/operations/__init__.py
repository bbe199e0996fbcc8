"""The operations of the REST API: each is declared next to the function that handles it."""
