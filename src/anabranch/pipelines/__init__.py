"""Long jobs: what the server, the command line and Spark share of each, a room a job."""
