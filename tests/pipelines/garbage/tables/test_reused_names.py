"""Files whose names are used again after a collection removed those that had them."""

from __future__ import annotations

import pytest
from support.garbage import DAY

from .scenario import WAYS, TableScenario
from .table_engine import stored_file


@pytest.fixture(params=WAYS)
def scenario(request, tmp_path):
    scenario = TableScenario(tmp_path, way=request.param)
    with scenario.lake:
        yield scenario


@pytest.mark.sample(1)
def test_a_file_that_was_written_again_waits_for_the_window_again(scenario):
    """The run before has seen the file that had its name, and has removed it."""
    window = 5 * DAY
    with scenario.mark(window_seconds=window):
        pass
    scenario.clock.advance(window + 1)
    with scenario.mark(window_seconds=window) as run:
        assert run.sweep().swept.objects
    name = scenario.dead[0].partition("/.tables/")[2]
    scenario.lake.blocks.put(f"mem://sea/tables/{name}", [b"again"])
    scenario.clock.advance(8 * DAY)
    with scenario.mark(window_seconds=window) as run:
        run.sweep()
    assert stored_file(scenario.lake, scenario.dead[0]) == b"again"
    scenario.clock.advance(window + 1)
    with scenario.mark(window_seconds=window) as run:
        assert run.sweep().swept.objects == 1
