"""Signatures of requests to services other than S3, compared with botocore's."""

import hashlib
from datetime import UTC, datetime

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from anabranch.model.secret import Secret
from anabranch.signing.sign import SigningCredentials, sign_request

URL = "https://glue.eu-west-1.amazonaws.com/"
BODY = b'{"Name": "zoo"}'


@pytest.mark.parametrize("service", ["glue", "s3"])
def test_a_request_to_a_service_is_signed_as_botocore_signs_it(monkeypatch, service):
    now = 1_700_000_000
    headers = {"X-Amz-Target": "AWSGlue.GetDatabase", "Content-Type": "application/x-amz-json-1.1"}
    digest = hashlib.sha256(BODY).hexdigest()
    signer = SigningCredentials("key", Secret("secret"), "eu-west-1")
    ours = sign_request(signer, "POST", URL, headers, time=now, payload=digest, service=service)

    moment = datetime.fromtimestamp(now, UTC)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: moment)
    sent = {**headers, "X-Amz-Content-Sha256": digest}
    request = AWSRequest("POST", URL, headers=sent, data=BODY)
    botocore.auth.SigV4Auth(Credentials("key", "secret"), service, "eu-west-1").add_auth(request)
    assert ours.headers["Authorization"] == request.headers["Authorization"]
