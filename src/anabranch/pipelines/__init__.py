"""Long-running jobs, one package each: the parts that the server, command line and Spark share."""
