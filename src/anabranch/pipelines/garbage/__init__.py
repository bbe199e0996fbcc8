"""Garbage collection: marks reachable objects, reports dead ones, and removes them.

| Module | Contents |
|---|---|
| collector | starts a run |
| run, run_files | a run, its sweep, and its files in the store |
| run_context | the record of a run that its phases have in common |
| engine | the phases of a run, which are executed in this process or on a cluster |
| fence | rounds of a sweep, in which new references to candidates are rejected |
| totals | totals of objects and bytes |
| installations | where references are read from: a key-value store or a server |
| addresses | listing of the store, address indexes, the anti-join of both, candidates |
| marking | reachable addresses, missing objects, attribution of dead objects to branches |
| sweeping | sweeps, quarantine, restoration, purge |
| reports | the summary of a run and its page |
"""
