"""Objects at a reference: reads, changes of branches and their reset, differences, uploads."""
