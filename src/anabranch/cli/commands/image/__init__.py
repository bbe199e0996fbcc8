"""The commands about images, one module each."""
