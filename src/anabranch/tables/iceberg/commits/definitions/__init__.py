"""The schemas, partition specs and sort orders of tables: what is accepted, which are the same."""
