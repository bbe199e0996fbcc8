"""`gc`: finds and removes objects that nothing refers to."""
