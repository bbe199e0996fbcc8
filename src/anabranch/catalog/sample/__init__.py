"""Sample data for new repositories."""
