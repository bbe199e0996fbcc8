"""A Delta table on two branches."""

from __future__ import annotations

import pytest
from support.formats.delta_tables import DeltaBranches


@pytest.fixture
def branches(tmp_path):
    return DeltaBranches(tmp_path)
