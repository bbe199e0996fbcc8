"""The audit log: who did what, and which policy allowed or denied it."""
