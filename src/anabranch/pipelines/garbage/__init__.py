"""Garbage collection: what lives is marked, what does not is reported, and swept in time.

| File | Holds |
|---|---|
| roots | references, staged changes and uploads, read so that nothing slips through |
| marks | the addresses of each range, as hashes, kept from run to run |
| living | all that lives, as hashes |
| listing | what the store holds |
| marking | how an engine finds what is dead |
| candidates | what is dead, and since when that is known |
| sweep | removes candidates that still are |
| collector | one run of all of it |
"""
