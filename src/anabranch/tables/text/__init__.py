"""Tables in text: encoding, dialect, rows that do not fit, and types of columns."""
