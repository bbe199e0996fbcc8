"""The permission of a form is that of who signed it, on the key that the form names."""

from __future__ import annotations

import time
from types import SimpleNamespace
from urllib.parse import urlsplit

import boto3
import pytest
import requests

from anabranch.access.actors.actor import Actor
from anabranch.access.credentials.credentials import Credential
from anabranch.access.policies.statements import Effect, Statement
from anabranch.errors import NotFound
from anabranch.http.request_head import RequestHead
from anabranch.model.secret import Secret
from anabranch.s3.gateway import S3Gateway
from anabranch.s3.services import Services
from anabranch.testing.lake import Clock, lake_in

KEY, SECRET = "AKIAADA", "ada's own"
OPEN = Statement(
    Effect.ALLOW, ("fs:WriteObject",), ("arn:lakefs:fs:::repository/sea/object/open/*",)
)


@pytest.fixture
def lake(tmp_path):
    with lake_in(tmp_path, Clock()) as lake:
        lake.repositories.create("sea", "local://sea")
        yield lake


NOT_TO_MAIN = Statement(
    Effect.DENY, ("fs:WriteObject",), ("*",), {"StringEquals": {"lakefs:branch": ("main",)}}
)


@pytest.fixture
def statements():
    return (OPEN,)


@pytest.fixture
def visit(lake, statements):
    """Sends a form of Ada, who may write below `open/`, to a gateway; returns the response."""
    ada = Actor(username="ada", statements=statements)
    credential = Credential(access_key_id=KEY, secret=Secret(SECRET), username="ada", issued_date=0)
    authenticator = SimpleNamespace(
        find_credential=lambda key: credential if key == KEY else None,
        find_actor_by_key=lambda key: ada if key == KEY else None,
    )
    access = SimpleNamespace(authenticator=authenticator, table_keys=None)
    gateway = S3Gateway(Services(lake, access, time.time))
    s3 = boto3.client(
        "s3",
        endpoint_url="http://localhost",
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
    )

    def send(key, filename="a"):
        form = s3.generate_presigned_post("sea", key)
        sent = requests.Request(
            "POST", form["url"], data=form["fields"], files={"file": (filename, b"abc")}
        ).prepare()
        headers = {name.lower(): value for name, value in sent.headers.items()}
        path = urlsplit(form["url"]).path
        head = RequestHead.sent("POST", path, "", headers, scheme="http", client="127.0.0.1")
        return gateway.request(head, "1").respond([sent.body])

    return send


@pytest.mark.parametrize(
    ("key", "filename", "status"),
    [
        ("main/open/a", "a", 204),
        ("main/open/${filename}", "a", 204),
        ("main/secret/a", "a", 403),
        ("main/${filename}", "a", 403),
        ("main/${filename}", "open/a", 403),
        ("main/open", "a", 403),
    ],
)
def test_signer_needs_permission_to_write_the_key(lake, visit, key, filename, status):
    assert visit(key, filename).status == status
    path = key.removeprefix("main/").replace("${filename}", "a")
    if status == 204:
        assert lake.objects.stat("sea", "main", path).entry.size == 3
        return
    with pytest.raises(NotFound):
        lake.objects.stat("sea", "main", path)


@pytest.mark.parametrize("statements", [(OPEN, NOT_TO_MAIN)])
@pytest.mark.parametrize(("branch", "status"), [("main", 403), ("dev", 204)])
def test_a_form_writes_to_no_branch_that_is_denied(lake, visit, branch, status):
    lake.branches.create("sea", "dev", "main")
    assert visit(f"{branch}/open/a").status == status
