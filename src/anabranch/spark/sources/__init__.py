"""Sources of repositories for the driver and its tasks: a server, or stores."""
