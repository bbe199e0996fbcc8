"""What commits look like."""

from __future__ import annotations

from anabranch.cli.output.history import commit_details, commit_lines

COMMIT = {
    "id": "1" * 64,
    "parents": ["a" * 64, "b" * 64],
    "committer": "jane",
    "message": "Correct May\n\nThe clock was wrong.",
    "creation_date": 0,
    "meta_range_id": "m",
    "metadata": {"ticket": "12", "by": "hand"},
}


def test_the_text_of_the_log():
    assert commit_lines(COMMIT, "today") == [
        f"Merge:     {'a' * 12} {'b' * 12}",
        "Committer: jane",
        "Date:      today",
        "",
        "    Correct May",
        "    ",
        "    The clock was wrong.",
        "",
        "    by = hand",
        "    ticket = 12",
    ]


def test_a_commit_with_little_to_say():
    commit = COMMIT | {"parents": [], "metadata": None, "message": "", "committer": ""}
    assert commit_lines(commit, "today") == ["Committer: ", "Date:      today", ""]


def test_details():
    assert commit_details(COMMIT)[-2:] == [("Meta by", "hand", ""), ("Meta ticket", "12", "")]
    assert commit_details(COMMIT)[0] == ("Commit", "1" * 64, "id")
