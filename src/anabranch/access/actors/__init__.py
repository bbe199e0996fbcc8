"""Who performs a request, and what that actor may do."""
