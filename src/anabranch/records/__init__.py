"""The formats of stored records: lakeFS's protobuf messages, and Parquet."""
