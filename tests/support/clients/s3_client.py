"""boto3's client of a server, as tests have it."""

from __future__ import annotations

from typing import Any

import boto3
import botocore.config

from anabranch.testing.server import Server

__all__ = ["s3_client"]


def s3_client(server: Server, **config: Any) -> Any:
    """Returns a client with the administrator's keys; `config` is botocore's configuration."""
    return boto3.client(
        "s3",
        endpoint_url=server.url,
        aws_access_key_id=server.access_key_id,
        aws_secret_access_key=server.secret_access_key,
        region_name="us-east-1",
        config=botocore.config.Config(**config),
    )
