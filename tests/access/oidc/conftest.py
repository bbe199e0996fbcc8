"""An installation whose users log in at a provider that the tests control."""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec
import pytest
from support.services.scripted_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    ScriptedProvider,
    running_provider,
)

from anabranch.access.access import Access
from anabranch.access.identities.administrators import Logins
from anabranch.access.oidc.configuration import Client, Configuration
from anabranch.access.oidc.single_sign_on import (
    AuthorizationResponse,
    FinishedLogin,
    SingleSignOn,
)
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.secret import Secret

LOGINS = Logins(single_sign_on=True)
KEY = Secret("the key of the installation")
REDIRECT_URI = "https://lake.example.com/api/v1/oidc/callback"


class Installation:
    """An installation with one administrator, `admin`, and single sign-on. `late` moves its clocks,
    in seconds.
    """

    def __init__(self, provider: ScriptedProvider, **changes: object) -> None:
        self.provider = provider
        self.store: KeyValueStore = MemoryStore()
        self.late = 0.0
        self.access = Access(self.store, KEY, clock=self.clock, ticks=self.clock, logins=LOGINS)
        self.access.setup.run("admin")
        client = Client(
            issuer=provider.issuer,
            id=CLIENT_ID,
            secret=Secret(CLIENT_SECRET),
            redirect_uri=REDIRECT_URI,
        )
        self.configuration = Configuration(client=client, request_timeout=30.0)
        self.sso = self.configured(**changes)

    def clock(self) -> float:
        return time.time() + self.late

    def configured(self, **changes: object) -> SingleSignOn:
        """Returns another server with its own caches over the same store, configured otherwise."""
        configuration = msgspec.structs.replace(self.configuration, **changes)
        self.sso = SingleSignOn(
            configuration, self.store, KEY, self.access, clock=self.clock, ticks=self.clock
        )
        return self.sso

    def login(self, next_path: str = "") -> FinishedLogin:
        """Logs in as whomever the provider's claims describe."""
        begun = self.sso.begin(next_path)
        parameters = self.provider.authorize(begun.url)
        return self.sso.finish(begun.cookie, AuthorizationResponse(**parameters))

    def usernames(self) -> list[str]:
        return [user.username for user in self.access.users.page("", "", 100).items]

    def groups(self, username: str) -> set[str]:
        """Returns the groups of a user."""
        names = [group.id for group in self.access.groups.page("", "", 100).items]
        members = self.access.memberships
        return {name for name in names if username in members.page(name, "", "", 100).items}


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with running_provider() as running:
        yield running


@pytest.fixture
def installation(provider) -> Installation:
    return Installation(provider)
