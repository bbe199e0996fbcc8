"""The tools, a module for each noun; `table.py` lists them."""
