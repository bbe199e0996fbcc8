"""A lake whose hooks may reach this machine, and a webhook server that decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from support.eventually import eventually
from support.hooks.deciding_webhook import DecidingWebhook, deciding_webhook

from anabranch.actions.hooks.contract import HookSettings
from anabranch.actions.runs.settings import ActionSettings
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Busy
from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake

SETTINGS = ActionSettings(hooks=HookSettings(webhook_allow=("127.0.0.1",)))


@pytest.fixture
def webhook() -> Iterator[DecidingWebhook]:
    with deciding_webhook() as server:
        yield server


class UnreliableStore(MemoryStore):
    """A store whose answers to transactions are lost if `loses_answer` is true of one write."""

    def __init__(self) -> None:
        super().__init__()
        self.loses_answer: Callable[[Write], bool] = lambda _: False

    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        made = super().apply(writes, expect)
        if any(map(self.loses_answer, writes)):
            raise Busy("the connection to the store was lost", kind="store_busy")
        return made


@pytest.fixture
def keyvalue() -> UnreliableStore:
    return UnreliableStore()


@pytest.fixture
def open_lake(tmp_path: Path, keyvalue: UnreliableStore) -> Iterator[Callable[..., Lake]]:
    """Opens lakes over one folder and one key-value store, as several servers do."""
    opened: list[Lake] = []
    import_folder = tmp_path / "outside"
    import_folder.mkdir()

    def open_one(settings: ActionSettings = SETTINGS, *, start: bool = True) -> Lake:
        lake = Lake(
            keyvalue,
            LocalBlocks(
                tmp_path / "blocks", import_enabled=True, external_prefixes=[str(import_folder)]
            ),
            cache_folder=tmp_path / f"cache{len(opened)}",
            signing_secret=b"a secret of tests",
            action_settings=settings,
        )
        opened.append(lake)
        if start:
            lake.start()
        return lake

    yield open_one
    for lake in opened:
        lake.close()


@pytest.fixture
def lake(open_lake: Callable[..., Lake]) -> Lake:
    lake = open_lake()
    lake.repositories.create("sea", "local://sea")
    return lake


@pytest.fixture
def add_action(lake: Lake, webhook: DecidingWebhook) -> Callable[..., None]:
    """Commits an action that sends events to the webhook, to `main` by default."""

    def add(
        *events: str,
        name: str = "gate",
        branch: str = "main",
        commit: bool = True,
        condition: str = "success()",
        branches: str = "",
    ) -> None:
        on = "\n".join(
            f"  {event}: {{branches: {branches}}}" if branches else f"  {event}:"
            for event in events
        )
        content = (
            f"name: {name}\non:\n{on}\nhooks:\n- id: ask\n  type: webhook\n"
            f"  if: {condition}\n  properties: {{url: '{webhook.url}'}}\n"
        )
        put(lake, branch, f"_lakefs_actions/{name}.yaml", content)
        if commit:
            lake.commits.commit("sea", branch, message="an action", committer="tester")
        eventually(lambda: not list(lake.core.keyvalue.scan("anabranch-post-hooks")))
        webhook.events.clear()

    return add


def put(lake: Lake, branch: str, path: str, content: str) -> None:
    lake.objects.upload("sea", branch, path, [content.encode()])
