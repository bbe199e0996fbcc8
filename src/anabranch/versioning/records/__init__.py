"""The stored form of references, entries, uploads and jobs: lakeFS's keys and records."""
