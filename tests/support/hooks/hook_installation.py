"""A server's objects in this process, with users, for tests of what hooks may do.

with hook_installation(folder) as installation:
    eve = installation.add_user("eve", "arn:lakefs:fs:::repository/sea/*")
    with acting_as(eve):
        installation.put("sea", "main", "a.txt", "a")
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from anabranch.access.identities.users import User
from anabranch.access.policies.policies import Policy
from anabranch.access.policies.statements import Effect, Statement
from anabranch.keyvalue.contract import Write
from anabranch.model.caller import Caller, acting_as, current_caller
from anabranch.server.composition import Composition
from anabranch.server.config.loader import load_settings
from anabranch.versioning.records import keys, references
from anabranch.versioning.records.expiring_branches import due_writes
from support.eventually import eventually

__all__ = ["HookInstallation", "hook_installation"]

_ADMINISTRATOR = {
    "ANABRANCH_INSTALLATION_USER_NAME": "root",
    "ANABRANCH_INSTALLATION_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "ANABRANCH_INSTALLATION_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
}


class HookInstallation:
    """The repositories `sea` and `land`, and the administrator `root`. `sea` has the object
    `private/a` on its branch `main`, `land` the object `a`.
    """

    def __init__(self, composition: Composition) -> None:
        self.lake = composition.lake
        self.access = composition.services.access
        self.root = self.caller("root")
        for name in ("sea", "land"):
            self.lake.repositories.create(name, f"local://{name}")
        with acting_as(self.root):
            self.put("sea", "main", "private/a", "secret")
            self.commit("sea", "main")
            self.put("land", "main", "a", "other")
            self.commit("land", "main")

    def caller(self, name: str) -> Caller:
        """Returns a user as a caller."""
        user = self.access.users.get(name)
        return Caller(name, (), user.created_at, record_id=user.record_id)

    def add_user(self, name: str, *denied: str, email: str = "", created_at: int = 0) -> Caller:
        """Adds a user who may do everything but read the `denied` resources."""
        now = created_at or int(time.time())
        statements = (
            Statement(Effect.ALLOW, ("fs:*", "ci:*"), ("*",)),
            *(Statement(Effect.DENY, ("fs:ReadObject",), (resource,)) for resource in denied),
        )
        if self.access.policies.find(f"of-{name}") is None:
            policy = Policy(id=f"of-{name}", created_at=now, statements=statements)
            self.access.policies.create(policy)
        self.access.users.create(User(username=name, created_at=now, email=email))
        self.access.user_attachments.add(name, f"of-{name}")
        return self.caller(name)

    def put(self, repository: str, branch: str, path: str, content: str) -> None:
        """Stages an object."""
        self.lake.objects.upload(repository, branch, path, [content.encode()])

    def commit(self, repository: str, branch: str, committer: str = "") -> str:
        """Commits, and returns the commit's id."""
        name = committer or current_caller().username
        return self.lake.commits.commit(repository, branch, message="m", committer=name).id

    def add_expired_branch(self, repository: str, name: str) -> None:
        """Creates a branch from `main`, and records that it has expired a day before its end."""
        lake, day = self.lake, 86_400
        later = int(lake.core.clock()) + day
        branch = lake.branches.create(repository, name, "main", expires_at=later)
        ended = msgspec.structs.replace(branch, expires_at=later - day)
        stored = lake.core.repositories.get(repository)
        lake.core.keyvalue.apply(
            [
                Write(stored.partition, keys.branch(name), references.branch_bytes(ended)),
                *due_writes(stored, name, branch.expires_at, ended.expires_at),
            ]
        )

    def act(
        self, script: str, *events: str, branch: str = "main", args: str = "{}", commit: bool = True
    ) -> None:
        """Puts an action on a branch of `sea` that runs a script of Lua on events."""
        on = "".join(f"  {event}:\n" for event in events)
        indented = textwrap.indent(textwrap.dedent(script).strip(), " " * 6)
        action = (
            f"name: acts\non:\n{on}hooks:\n- id: only\n  type: lua\n  properties:\n"
            f"    args: {args}\n    script: |\n{indented}\n"
        )
        self.put("sea", branch, "_lakefs_actions/acts.yaml", action)
        if commit:
            self.commit("sea", branch)

    def output(self, event: str) -> str:
        """Returns the output of the last run on an event, once the hooks of all events have run."""
        runs = self.lake.engine.records
        eventually(lambda: not list(self.lake.core.keyvalue.scan("anabranch-post-hooks")))

        def found() -> list[str]:
            return [run.id for run in runs.list("sea", amount=100).items if run.event == event]

        eventually(found)
        return self.lake.actions.output("sea", found()[0], "0000_0000").decode()


@contextmanager
def hook_installation(
    folder: Path, settings: Mapping[str, str] | None = None
) -> Iterator[HookInstallation]:
    """Yields the objects of a server that runs hooks; `settings` are variables of its
    environment.
    """
    environment = {**_ADMINISTRATOR, **(settings or {})}
    composition = Composition(load_settings({"data": str(folder)}, environment, None).settings)
    composition.start()
    try:
        yield HookInstallation(composition)
    finally:
        composition.close()
