"""s3fs, fsspec's file system on S3 (aiobotocore), in the environment that it needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.services.program import Program

STEPS = Path(__file__).with_name("s3fs_steps.py")
TESTS = Path(__file__).parents[2]
PATHS = (TESTS.parent / "src", TESTS)


@pytest.mark.parametrize(
    "step",
    [
        pytest.param("files", marks=pytest.mark.wiring),
        "folders",
        "moves",
        "parts",
        "metadata",
        "conditions",
        "odd_keys",
    ],
)
@pytest.mark.sample(2)
def test_step(clients_bin, aws_environment, tmp_path, odd_bucket, step):
    environment = {**aws_environment, "PYTHONPATH": ":".join(map(str, PATHS))}
    run = Program([clients_bin / "python", STEPS], folder=tmp_path, env=environment)
    run(step, odd_bucket)
