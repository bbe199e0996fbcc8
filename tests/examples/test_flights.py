"""The flights example on a real server, from beginning to end."""

from __future__ import annotations

import pandas as pd
import pytest

from anabranch.examples import flights
from anabranch.testing.server import running_server

DECEMBER = "flights/month=12/flights.parquet"


@pytest.mark.timeout(180)
def test_the_story_is_told_to_its_end(tmp_path):
    with running_server(tmp_path) as server:
        story = flights.FlightsStory(server.url, *server.auth)
        assert not story.is_told()
        reported = []
        flights.play(story, lambda line, seconds: reported.append((line, seconds)))
        assert [line.partition(":")[0] for line, _ in reported] == [
            title for title, _ in story.steps()
        ]
        assert all(seconds >= 0 for _, seconds in reported)
        assert story.is_told()
        check_what_it_left(story)
        check_that_it_notices_what_is_wrong(story)


def check_what_it_left(story):
    """Looks at the result without the story's own eyes."""
    assert [change.path for change in story.main.uncommitted()] == []
    messages = [commit.message for commit in story.main.log()]
    assert messages[0] == "Merge 'only-newark' into 'main'"
    assert messages[-2:] == ["All flights of 2013", "Repository created"]
    assert len([message for message in messages if message.startswith("Merge ")]) == 4
    december = pd.read_parquet(
        f"lakefs://{flights.REPOSITORY}/v1/{DECEMBER}", storage_options=story.options
    )
    assert set(december["origin"]) == {"EWR"}
    everything = pd.read_parquet(
        f"lakefs://{flights.REPOSITORY}/main~4/{DECEMBER}", storage_options=story.options
    )
    assert set(everything["origin"]) == {"EWR", "JFK", "LGA"}


def check_that_it_notices_what_is_wrong(story):
    wrong = story.months[12].assign(dep_delay=0.0)
    story.write("main", 12, wrong)
    with pytest.raises(flights.StoryError, match="month=12"):
        story.check("main", story.months)
    story.check("v1", story.months)
