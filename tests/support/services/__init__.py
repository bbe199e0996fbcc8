"""Real services that tests start: object stores, databases, proxies, Spark."""
