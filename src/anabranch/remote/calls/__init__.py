"""The operations of a lake as calls, a module for each of its parts."""
