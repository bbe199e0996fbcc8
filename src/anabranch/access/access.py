"""Access, composed: every part of it, built once over one key-value store.

access = Access(keyvalue, key=settings.auth.encrypt.secret_key)
access.setup.run("admin")
decide(access.authenticator.authenticate(header), [Permission(...)])
"""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Callable

from anabranch.access.authenticate import Authenticator, Remembering
from anabranch.access.credentials import Credentials
from anabranch.access.recovery import Recovery
from anabranch.access.secrets import Sealer
from anabranch.access.setup import Setup
from anabranch.access.tokens import WEEK, Tokens
from anabranch.access.users import Users
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.model.secret import Secret

__all__ = ["Access"]

_AS_LAKEFS = Remembering()


class Access:
    """All of access. `key` seals secrets and signs tokens, and must be the same in every server
    of an installation. `clock` gives seconds since 1970, `ticks` seconds that never go back.
    """

    def __init__(
        self,
        keyvalue: KeyValueStore,
        key: Secret,
        *,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
        login_duration: float = WEEK,
        remembering: Remembering = _AS_LAKEFS,
    ) -> None:
        def new_id() -> str:
            return str(uuid.UUID(bytes=random_bytes(16), version=4))

        self.users = Users(keyvalue)
        self.credentials = Credentials(keyvalue, Sealer(key, random_bytes), clock, random_bytes)
        self.tokens = Tokens(key, clock, new_id, login_duration)
        self.setup = Setup(keyvalue, self.credentials, clock, new_id)
        self.recovery = Recovery(keyvalue, self.users, self.credentials, self.setup, clock)
        self.authenticator = Authenticator(
            self.users,
            self.credentials,
            self.tokens,
            clock=clock,
            ticks=ticks,
            random_bytes=random_bytes,
            remembering=remembering,
        )
