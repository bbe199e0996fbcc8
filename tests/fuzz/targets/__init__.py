"""The targets of the fuzzer, one for each reader of what others have written."""
