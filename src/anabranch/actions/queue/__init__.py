"""The queue of events after changes, whose hooks run later, on any server."""
