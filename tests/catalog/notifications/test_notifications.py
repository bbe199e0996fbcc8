"""The addresses of a repository: added, listed and removed."""

from __future__ import annotations

import threading

import pytest

from anabranch.catalog.notifications.notifications import MAX_TARGETS
from anabranch.errors import Invalid, NotFound
from anabranch.model.notifications import NotificationEvent

URL = "https://chat.example/hooks/cedfca83"


def test_addresses_are_added_and_removed(lake):
    assert list(lake.notifications.list("sea")) == []
    events = [NotificationEvent.REVIEWED, NotificationEvent.COMMENTED, NotificationEvent.REVIEWED]
    first = lake.notifications.add("sea", URL, events=events)
    second = lake.notifications.add("sea", URL)
    assert first.events == (NotificationEvent.REVIEWED, NotificationEvent.COMMENTED)
    assert list(lake.notifications.list("sea")) == [first, second]
    lake.notifications.delete("sea", first.id)
    assert list(lake.notifications.list("sea")) == [second]
    with pytest.raises(NotFound, match="notification not found"):
        lake.notifications.delete("sea", first.id)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "cedfca83",
        "ftp://chat.example/cedfca83",
        "https:///cedfca83",
        "https://chat.example/cedfca83 x",
        "https://chat.example:x/cedfca83",
        "https://chat.example/cedfca83" + "x" * 2048,
    ],
)
@pytest.mark.sample(3)
def test_invalid_addresses_are_refused_and_not_quoted(lake, url):
    with pytest.raises(Invalid) as error:
        lake.notifications.add("sea", url)
    assert error.value.kind == "invalid_url"
    assert "cedfca83" not in f"{error.value.message} {error.value.hint}"
    assert list(lake.notifications.list("sea")) == []


def test_at_most_so_many_addresses_and_none_is_lost(lake):
    threads = [
        threading.Thread(target=lake.notifications.add, args=("sea", URL))
        for _ in range(MAX_TARGETS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lake.notifications.list("sea")) == MAX_TARGETS
    with pytest.raises(Invalid) as error:
        lake.notifications.add("sea", URL)
    assert error.value.kind == "too_many_notifications"
