"""Sweeping: removal of unreferenced objects, quarantine, restoration and purge."""
