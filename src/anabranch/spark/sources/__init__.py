"""Where the driver and its tasks read repositories: a server, or stores."""
