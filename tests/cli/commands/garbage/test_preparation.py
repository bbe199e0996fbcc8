"""`gc prepare-async` and `gc check-async`."""

from __future__ import annotations

from support.eventually import eventually


def test_a_preparation_is_started_and_completes(ana, lake):
    lake.commit("main", "base", a="1")
    ana.ok("gc", "set-config", lake.uri, "--default", "21")
    task = ana.ok("gc", "prepare-async", lake.uri).out.strip()

    def completed():
        return ana.ok("gc", "check-async", lake.uri, task, "--json").json["completed"]

    eventually(completed)
    shown = ana.ok("gc", "check-async", lake.uri, task).out
    assert "Commits:" in shown
    assert ana("gc", "check-async", lake.uri, "nothing").code == 1
