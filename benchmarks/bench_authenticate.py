"""Benchmarks authentication: microseconds of CPU per request.

Each method is measured with a cached result, as for nearly all requests, and without, as happens
once in 20 seconds for each header. The store is in memory.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from functools import partial

from anabranch.access.access import Access
from anabranch.access.actors.authorize import authorize
from anabranch.access.credentials.credentials import KeyPair
from anabranch.access.policies.permissions import Action, Permission, object_arn
from anabranch.access.sessions.authenticate import AuthCacheSettings
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.secret import Secret

KEY = Secret("a key of the installation")
PAIR = KeyPair("AKIAIOSFOLQUICKSTART", Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))


def cost(call: Callable[[], object], repeat: int) -> float:
    best = float("inf")
    for _ in range(5):
        begin = time.process_time()
        for _ in range(repeat):
            call()
        best = min(best, time.process_time() - begin)
    return best / repeat * 1e6


def main() -> None:
    store = MemoryStore()
    remembers = Access(store, KEY, cache_settings=AuthCacheSettings(lifetime=1e6))
    forgets = Access(store, KEY, cache_settings=AuthCacheSettings(lifetime=0))
    remembers.setup.run("quickstart", PAIR)
    warm, cold = remembers.authenticator, forgets.authenticator
    token = warm.login(PAIR.access_key_id, PAIR.secret.reveal()).token.reveal()
    pair = f"{PAIR.access_key_id}:{PAIR.secret.reveal()}"
    ways = {
        "Basic": ("Basic " + base64.b64encode(pair.encode()).decode(), None),
        "Bearer": (f"Bearer {token}", None),
        "cookie": (None, token),
    }
    print("us of CPU   remembered     anew")
    for name, way in ways.items():
        known = cost(partial(warm.authenticate, *way), 20_000)
        anew = cost(partial(cold.authenticate, *way), 200)
        print(f"{name:10} {known:11.2f} {anew:8.1f}")
    actor = warm.authenticate(*ways["Basic"])
    wanted = [Permission(Action.READ_OBJECT, object_arn("lake", "raw/a.parquet"))]
    print(f"{'decide':10} {cost(partial(authorize, actor, wanted), 20_000):11.2f}")


if __name__ == "__main__":
    main()
