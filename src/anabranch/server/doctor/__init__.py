"""The checks of `anabranch doctor`: one module for each subject."""
