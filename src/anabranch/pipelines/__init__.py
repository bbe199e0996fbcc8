"""Long jobs, one package each: the code that the server, the command line and Spark share."""
