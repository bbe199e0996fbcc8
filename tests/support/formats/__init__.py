"""Independent readers and writers of files, to compare with."""
