"""Jobs on Spark: imports, exports, images, garbage collection."""
