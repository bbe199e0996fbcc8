"""Garbage collection: what lives is marked, what does not is reported, and swept in time.

| File | Holds |
|---|---|
| installation | what a collection asks of the store of references |
| stored_installation, served_installation | the answers of a key-value store, and of a server |
| served_uncommitted | uploads in parts and staged changes, as a server writes them down |
| asking | requests to a server |
| roots | what references reach, read so that nothing slips through |
| marks | the addresses of each range, as hashes, kept from run to run |
| living | all that lives, as hashes |
| listing | what the store holds |
| engine | what does the work: this process, or another |
| candidates | what is dead, and since when that is known |
| sweep | removes candidates that still are |
| range_tree | a range opened by itself |
| needs | which active commits hold a range, and what names them |
| missing | what is referred to and is not there |
| origins | whose data it was that is dead |
| report_page, report_plots | a page about all of it, for people |
| run | what has been found, and its sweep |
| collector | begins a run |
"""
