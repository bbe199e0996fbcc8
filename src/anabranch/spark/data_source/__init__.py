"""The Spark data source `anabranch`."""
