"""Who performs the requests of tools: the gateway of this process, or a server elsewhere."""
