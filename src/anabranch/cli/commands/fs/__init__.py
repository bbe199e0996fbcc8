"""The commands about objects: one file for each thing they do."""
