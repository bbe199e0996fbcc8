"""A process that changes a lake until it is killed: each thread creates branches, commits an object
to each and merges it into `main`.

    python merge_loop.py FOLDER LIFE THREADS

It prints LIFE-THREAD-NUMBER of an object once its merge has returned.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading

import anabranch


def _main(folder: str, life: str, threads: int) -> None:
    lake = anabranch.open(folder, committer="ada")
    repository = lake.repository("sea")

    def work(thread: int) -> None:
        for number in itertools.count():
            name = f"{life}-{thread}-{number}"
            branch = repository.branch(name).create("main")
            branch.write(f"out/{name}", name.encode())
            branch.commit(name)
            repository.branch("main").merge(name)
            os.write(1, f"{name}\n".encode())

    for thread in range(threads):
        threading.Thread(target=work, args=(thread,), daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
