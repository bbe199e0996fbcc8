"""Services that give credentials for S3 to what runs in a pod, a container or a machine of AWS.

    pod         a token in a file is exchanged at STS (AssumeRoleWithWebIdentity)
    container   an address in the environment gives them
    machine     the metadata service of the instance does, IMDSv2

[AWS, "AWS SDKs and Tools reference guide": web identity, container and IMDS credential providers]
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from urllib.parse import urlencode

from anabranch.blocks.http_pool import HttpAnswer, HttpPool
from anabranch.blocks.s3_access import Credentials
from anabranch.blocks.s3_answers import read_nested
from anabranch.errors import Busy, StoreRefused
from anabranch.model.secret import Secret

__all__ = ["service_credentials"]

_OK = 200
_CONTAINERS = "http://169.254.170.2"
_MACHINE = "http://169.254.169.254"
_ROLES = "/latest/meta-data/iam/security-credentials/"
_SECONDS = 5.0


def service_credentials(environment: Mapping[str, str], region: str) -> Credentials | None:
    """Returns what the first service gives that the environment speaks of, or the machine's; None
    where there is none. Raises StoreRefused for one that refuses, Busy for one that is silent.
    """
    pool = HttpPool(silence_seconds=_SECONDS, connect_seconds=_SECONDS)
    try:
        if environment.get("AWS_WEB_IDENTITY_TOKEN_FILE") and environment.get("AWS_ROLE_ARN"):
            return _of_pod(pool, environment, region)
        relative = environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "")
        full = environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI", "")
        if relative or full:
            return _of_container(pool, environment, _CONTAINERS + relative if relative else full)
        if environment.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
            return None
        return _of_machine(pool, environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or _MACHINE)
    finally:
        pool.close()


def _of_pod(pool: HttpPool, environment: Mapping[str, str], region: str) -> Credentials:
    asked = {
        "Action": "AssumeRoleWithWebIdentity",
        "RoleArn": environment["AWS_ROLE_ARN"],
        "RoleSessionName": environment.get("AWS_ROLE_SESSION_NAME") or "anabranch",
        "Version": "2011-06-15",
        "WebIdentityToken": _text_of(environment["AWS_WEB_IDENTITY_TOKEN_FILE"]),
    }
    host = f"https://sts.{region}.amazonaws.com" if region else "https://sts.amazonaws.com"
    url = environment.get("AWS_ENDPOINT_URL_STS") or host
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = _asked(pool, "POST", f"{url.rstrip('/')}/", headers, urlencode(asked).encode())
    found = read_nested(answer.body, "Credentials")
    return _credentials(
        found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"], found["Expiration"]
    )


def _of_container(pool: HttpPool, environment: Mapping[str, str], url: str) -> Credentials:
    token = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", "")
    if file := environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"):
        token = _text_of(file)
    headers = {"Authorization": token} if token else {}
    return _of_json(_asked(pool, "GET", url, headers))


def _of_machine(pool: HttpPool, service: str) -> Credentials | None:
    service = service.rstrip("/")
    lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": "21600", "Content-Length": "0"}
    try:
        token = pool.send("PUT", f"{service}/latest/api/token", lifetime)
    except (OSError, http.client.HTTPException):
        return None  # this is no machine of AWS
    headers = {"X-aws-ec2-metadata-token": token.body.decode()} if token.status == _OK else {}
    roles = pool.send("GET", service + _ROLES, headers)
    role = roles.body.decode().strip().partition("\n")[0]
    if roles.status != _OK or not role:
        return None
    return _of_json(_asked(pool, "GET", service + _ROLES + role, headers))


def _of_json(answer: HttpAnswer) -> Credentials:
    found = json.loads(answer.body)
    return _credentials(
        found["AccessKeyId"], found["SecretAccessKey"], found["Token"], found["Expiration"]
    )


def _credentials(access_key_id: str, secret: str, token: str, expiration: str) -> Credentials:
    expires = datetime.fromisoformat(expiration).timestamp()
    return Credentials(access_key_id, Secret(secret), token, expires)


def _asked(
    pool: HttpPool, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
) -> HttpAnswer:
    try:
        answer = pool.send(method, url, headers, body)
    except (OSError, http.client.HTTPException) as error:
        raise Busy(
            f"{url}: the service of credentials does not answer: {error}",
            kind="storage_unreachable",
        ) from error
    if answer.status != _OK:
        raise StoreRefused(
            f"{url}: the service of credentials answered {answer.status}", kind="no_credentials"
        )
    return answer


def _text_of(file: str) -> str:
    try:
        return Path(file).read_text("utf-8").strip()
    except OSError as error:
        raise StoreRefused(
            f"{file}: cannot be read: {error.strerror}", kind="no_credentials"
        ) from None
