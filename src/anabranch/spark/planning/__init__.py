"""How work is divided among Spark tasks."""
