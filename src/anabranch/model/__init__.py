"""The data model: frozen structures, independent of any store."""
