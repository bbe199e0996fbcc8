"""Building wheels and a source distribution, and examining them: `make dist`."""
