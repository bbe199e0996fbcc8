"""Uploads by forms: boto3 signs them, browsers that are libraries of HTTP send them."""

from __future__ import annotations

import base64
import hmac
import json
import os
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import httpx2
import pytest
import requests
from support.clients.s3_uploads import checksum

from .conftest import boto3_client

LARGE = os.urandom(3 << 20)


@pytest.fixture(params=["s3v4", "s3"])
def signer(server, request):
    """boto3, with each version of signatures."""
    return boto3_client(server, signature_version=request.param)


@pytest.fixture
def post(s3, bucket):
    """Signs a form and sends it; `changed` are its fields after that, None for none."""

    def send(key="main/a", file=("a.txt", b"abc"), changed=None, by=s3, **options):
        form = by.generate_presigned_post(bucket, key, **options)
        fields = {**form["fields"], **(changed or {})}
        fields = {name: value for name, value in fields.items() if value is not None}
        return requests.post(
            form["url"], data=fields, files={"file": file}, timeout=60, allow_redirects=False
        )

    return send


def refusal(answer):
    """Returns the status, the code and the message of an error."""
    root = ET.fromstring(answer.content)  # noqa: S314  it is ours
    return answer.status_code, root.findtext("Code"), root.findtext("Message")


@pytest.mark.parametrize("body", [b"", b"abc", b"\r\n--b\r\n", LARGE], ids=len)
@pytest.mark.sample(3)
def test_a_file_comes_onto_the_branch(s3, bucket, post, signer, api, body):
    answer = post(file=("a.txt", body), by=signer)
    assert (answer.status_code, answer.content) == (204, b"")
    got = s3.get_object(Bucket=bucket, Key="main/a")
    assert got["Body"].read() == body
    assert answer.headers["ETag"] == got["ETag"]
    assert answer.headers["Location"].endswith(f"/{bucket}/main/a")
    diff = api.get(f"/repositories/{bucket}/branches/main/diff").json()["results"]
    assert [item["path"] for item in diff] == ["a"]


def test_form_of_another_library_is_accepted(s3, bucket):
    form = s3.generate_presigned_post(bucket, "main/ü b")
    files = {"file": ("x", LARGE)}
    assert httpx2.post(form["url"], data=form["fields"], files=files).status_code == 204
    assert s3.get_object(Bucket=bucket, Key="main/ü b")["Body"].read() == LARGE


def test_a_bucket_in_the_name_of_the_host(s3, bucket, server):
    form = s3.generate_presigned_post(bucket, "main/a")
    headers = {"host": f"{bucket}.s3.local.lakefs.io"}
    files = {"file": b"abc"}
    answer = requests.post(
        f"{server.url}/", headers=headers, data=form["fields"], files=files, timeout=60
    )
    assert answer.status_code == 204
    assert answer.headers["location"] == f"http://{headers['host']}/main/a"
    assert s3.get_object(Bucket=bucket, Key="main/a")["Body"].read() == b"abc"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("abc.txt", "abc.txt"),
        ("C:\\Users\\me\\abc.txt", "abc.txt"),
        ("/home/me/tee ü.txt", "tee ü.txt"),
        ("../../etc/passwd", "passwd"),
        ('quo"ted', "quo%22ted"),
    ],
)
def test_the_name_of_the_file_is_put_in(s3, bucket, post, name, kept):
    answer = post(
        "main/in/${filename}",
        (name, b"abc"),
        Fields={"x-amz-meta-name": "it is ${filename}"},
        Conditions=[["starts-with", "$x-amz-meta-name", "it is "]],
    )
    assert answer.status_code == 204, answer.text
    listed = s3.list_objects_v2(Bucket=bucket, Prefix="main/in/")["Contents"]
    assert [item["Key"] for item in listed] == [f"main/in/{kept}"]
    head = s3.head_object(Bucket=bucket, Key=f"main/in/{kept}")
    assert head["ResponseMetadata"]["HTTPHeaders"]["x-amz-meta-name"].startswith(
        "it is" if kept.isascii() else "=?UTF-8?Q?it"
    )


def test_form_fields_set_metadata_and_headers(s3, bucket, post):
    tagging = "<Tagging><TagSet><Tag><Key>a</Key><Value>1 &amp; 2</Value></Tag></TagSet></Tagging>"
    fields = {
        "Content-Type": "image/png",
        "Cache-Control": "no-store",
        "Content-Disposition": 'inline; filename="a"',
        "Content-Encoding": "gzip",
        "x-amz-meta-Some": "thing",
        "x-amz-meta-other": "tee, süß",
        "tagging": tagging,
        "acl": "private",
        "x-amz-storage-class": "STANDARD",
    }
    conditions = [{name: value} for name, value in fields.items()]
    answer = post(Fields=fields, Conditions=conditions, changed={"x-ignore-this": "1"})
    assert answer.status_code == 204, answer.text
    head = s3.head_object(Bucket=bucket, Key="main/a")
    assert head["ContentType"] == "image/png"
    assert (head["CacheControl"], head["ContentEncoding"]) == ("no-store", "gzip")
    assert head["ContentDisposition"] == fields["Content-Disposition"]
    assert head["Metadata"]["some"] == "thing"
    tags = s3.get_object_tagging(Bucket=bucket, Key="main/a")["TagSet"]
    assert tags == [{"Key": "a", "Value": "1 & 2"}]


def test_the_type_of_the_part_is_not_the_objects(s3, bucket, post):
    assert post(file=("a.html", b"<p>", "text/html")).status_code == 204
    assert s3.head_object(Bucket=bucket, Key="main/a")["ContentType"] == "application/octet-stream"


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC64NVME", "SHA256"])
def test_checksums_are_verified_and_kept(s3, bucket, post, algorithm):
    name = f"x-amz-checksum-{algorithm.lower()}"
    fields = {"x-amz-checksum-algorithm": algorithm, name: checksum(algorithm.lower(), b"abc")}
    options = {"Fields": fields, "Conditions": [{key: text} for key, text in fields.items()]}
    assert refusal(post(file=("a", b"coffee"), **options))[:2] == (400, "BadDigest")
    answer = post(**options)
    assert (answer.status_code, answer.headers[name]) == (204, fields[name])
    head = s3.head_object(Bucket=bucket, Key="main/a", ChecksumMode="ENABLED")
    assert head[f"Checksum{algorithm}"] == fields[name]


@pytest.mark.parametrize(
    ("wanted", "status"), [("200", 200), ("201", 201), ("204", 204), ("404", 204), ("x", 204)]
)
def test_the_status_of_success_may_be_chosen(s3, bucket, post, wanted, status):
    field = {"success_action_status": wanted}
    answer = post("main/a b", Fields=field, Conditions=[field])
    assert answer.status_code == status
    if status == 201:
        response = {child.tag: child.text for child in ET.fromstring(answer.content)}  # noqa: S314
        assert response == {
            "Location": answer.headers["location"],
            "Bucket": bucket,
            "Key": "main/a b",
            "ETag": s3.head_object(Bucket=bucket, Key="main/a b")["ETag"],
        }
    else:
        assert answer.content == b""


@pytest.mark.parametrize("name", ["success_action_redirect", "redirect"])
@pytest.mark.parametrize("query", ["", "?x=1"])
def test_success_may_lead_to_a_page(s3, bucket, post, name, query):
    field = {name: f"https://example.com/dank e{query}#top"}
    answer = post(Fields=field, Conditions=[field])
    assert answer.status_code == 303
    url = urlsplit(answer.headers["location"])
    assert (url.netloc, url.path, url.fragment) == ("example.com", "/dank%20e", "top")
    response = {"bucket": [bucket], "key": ["main/a"]}
    response["etag"] = [s3.head_object(Bucket=bucket, Key="main/a")["ETag"]]
    assert parse_qs(url.query) == ({"x": ["1"]} if query else {}) | response


@pytest.mark.parametrize("url", ["javascript:alert(1)", "//example.com", "a\r\nX: y", "http://["])
def test_invalid_redirect_url_is_ignored(post, url):
    field = {"success_action_redirect": url}
    answer = post(Fields=field, Conditions=[["starts-with", "$success_action_redirect", ""]])
    assert answer.status_code == 204
    assert "x" not in answer.headers


CONDITIONS = [
    ({"acl": "private"}, {"acl": "private"}, None),
    ({"acl": "public-read"}, {"acl": "private"}, '["eq", "$acl", "private"]'),
    ({"acl": "x"}, ["eq", "$ACL", "x"], None),
    ({}, {"acl": "private"}, '["eq", "$acl", "private"]'),
    ({}, ["starts-with", "$x-amz-meta-a", ""], '["starts-with", "$x-amz-meta-a", ""]'),
    ({"x-amz-meta-a": "ab"}, ["Starts-With", "$x-amz-meta-a", "a"], None),
    ({"x-amz-meta-a": "b"}, ["starts-with", "$x-amz-meta-a", "a"], "starts-with"),
    ({"Content-Type": "image/png, image/jpeg"}, ["starts-with", "$Content-Type", "image/"], None),
    ({"Content-Type": "image/png,text/html"}, ["starts-with", "$Content-Type", "image/"], "image"),
    ({}, ["eq", "$key", "main/b"], '["eq", "$key", "main/b"]'),
    ({}, {"bucket": "another"}, '["eq", "$bucket", "another"]'),
    ({"acl": "x"}, None, "Extra input fields: acl"),
]


@pytest.mark.sample(12)
@pytest.mark.parametrize(("fields", "condition", "reason"), CONDITIONS)
def test_conditions_of_the_policy(s3, bucket, post, signer, fields, condition, reason):
    conditions = [] if condition is None else [condition]
    answer = post(by=signer, changed=fields, Conditions=conditions)
    if reason is None:
        assert answer.status_code == 204, answer.text
        return
    status, code, message = refusal(answer)
    assert (status, code) == (403, "AccessDenied")
    assert message.startswith("Invalid according to Policy: ")
    assert reason in message
    assert s3.list_objects_v2(Bucket=bucket, Prefix="main/")["KeyCount"] == 0


@pytest.mark.parametrize(
    ("size", "code"),
    [(0, "EntityTooSmall"), (9, "EntityTooSmall"), (10, ""), (20, ""), (21, "EntityTooLarge")],
)
def test_the_size_of_the_file_may_be_limited(s3, bucket, post, size, code):
    answer = post(
        file=("a", b"x" * size),
        Conditions=[["content-length-range", 10, 30], ["content-length-range", "0", "20"]],
    )
    if not code:
        assert answer.status_code == 204
        return
    assert refusal(answer)[:2] == (400, code)
    assert s3.list_objects_v2(Bucket=bucket, Prefix="main/")["KeyCount"] == 0


def test_a_form_that_was_signed_by_another(server, post):
    wrong = boto3_client(server, secret_access_key="wrong")
    assert refusal(post(by=wrong))[:2] == (403, "SignatureDoesNotMatch")
    unknown = boto3_client(server, access_key_id="AKIAUNKNOWN")
    assert refusal(post(by=unknown))[:2] == (403, "InvalidAccessKeyId")


@pytest.mark.parametrize("version", ["s3v4", "s3"])
def test_a_policy_that_was_changed(server, post, version):
    by = boto3_client(server, signature_version=version)
    wide = base64.b64encode(b'{"expiration": "2999-01-01T00:00:00Z", "conditions": []}').decode()
    assert refusal(post(by=by, changed={"policy": wide}))[:2] == (403, "SignatureDoesNotMatch")


def test_another_key_than_the_one_that_was_signed(post):
    status, code, message = refusal(post(changed={"key": "main/other"}))
    assert (status, code) == (403, "AccessDenied")
    assert '["eq", "$key", "main/a"]' in message


def test_the_policy_has_an_end(post):
    answer = post(ExpiresIn=-5)
    expected = (403, "AccessDenied", "Invalid according to Policy: Policy expired.")
    assert refusal(answer) == expected


def test_a_form_for_another_bucket(s3, bucket, new_bucket):
    form = s3.generate_presigned_post(bucket, "main/a")
    url = form["url"].replace(bucket, new_bucket())
    answer = requests.post(url, data=form["fields"], files={"file": b"x"}, timeout=60)
    status, code, message = refusal(answer)
    assert (status, code, "$bucket" in message) == (403, "AccessDenied", True)


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("other/a", "NoSuchBucket"),
        ("main", "InvalidArgument"),
        ("main/", "InvalidArgument"),
        ("main/" + "a" * 1025, "KeyTooLongError"),
    ],
)
def test_keys_that_cannot_be_written(post, key, code):
    assert refusal(post(key))[1] == code


def test_a_protected_branch(api, bucket, post):
    rules = [{"pattern": "main"}]
    url = f"/repositories/{bucket}/settings/branch_protection"
    assert api.put(url, json=rules).is_success
    assert refusal(post())[:2] == (403, "AccessDenied")


def signed(server, policy, **fields):
    """Returns the fields of a form of version 2 with any policy."""
    text = base64.b64encode(policy if isinstance(policy, bytes) else json.dumps(policy).encode())
    digest = hmac.digest(server.secret_access_key.encode(), text, "sha1")
    return {
        "key": "main/a",
        "AWSAccessKeyId": server.access_key_id,
        "policy": text.decode(),
        "signature": base64.b64encode(digest).decode(),
        **fields,
    }


def soon():
    return (datetime.now(UTC) + timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


INVALID = [
    (b"no json", "Invalid JSON."),
    (b"[" * 5000, "Invalid JSON."),
    (b'{"expiration": ' + b"9" * 5000 + b"}", "Invalid JSON."),
    ([], "Invalid JSON."),
    ({"conditions": []}, "Policy missing expiration."),
    ({"expiration": "tomorrow", "conditions": []}, "Invalid 'expiration' value: 'tomorrow'"),
    ({"expiration": 7, "conditions": []}, "Invalid 'expiration' value: '7'"),
    ({"expiration": None}, "Policy missing expiration."),
    ({}, "Policy missing conditions."),
    ({"conditions": {}}, "Policy missing conditions."),
    ({"conditions": [{}]}, "Invalid Simple-Condition"),
    ({"conditions": [{"a": "1", "b": "2"}]}, "Invalid Simple-Condition"),
    ({"conditions": [{"a": 1}]}, "Invalid Simple-Condition"),
    ({"conditions": [["eq", "$a"]]}, "Invalid Condition"),
    ({"conditions": [["eq", "a", "b"]]}, "Invalid Condition"),
    ({"conditions": [["matches", "$a", "b"]]}, "Invalid Condition"),
    ({"conditions": [["content-length-range", "a", 1]]}, "Invalid content-length-range"),
    ({"conditions": [["content-length-range", 2, 1]]}, "Invalid content-length-range"),
    ({"conditions": [["content-length-range", -1, 1]]}, "Invalid content-length-range"),
    ({"conditions": [["content-length-range", None, {}]]}, "Invalid content-length-range"),
    ({"conditions": ["eq"]}, "Invalid Condition"),
]


@pytest.mark.parametrize(("policy", "reason"), INVALID)
@pytest.mark.sample(11)
def test_malformed_policy_is_rejected(server, bucket, policy, reason):
    if isinstance(policy, dict) and reason != "Policy missing expiration.":
        policy = {"expiration": soon(), **policy}
    fields = signed(server, policy)
    url = f"{server.url}/{bucket}"
    answer = requests.post(url, data=fields, files={"file": b"x"}, timeout=60)
    status, code, message = refusal(answer)
    assert (status, code) == (400, "InvalidPolicyDocument")
    assert message.startswith(f"Invalid Policy: {reason}")


def test_the_bucket_needs_a_condition(server, bucket):
    policy = {"expiration": soon(), "conditions": [{"key": "main/a"}]}
    fields = signed(server, policy)
    url = f"{server.url}/{bucket}"
    answer = requests.post(url, data=fields, files={"file": b"x"}, timeout=60)
    assert "Extra input fields: bucket" in refusal(answer)[2]


def test_a_bucket_that_is_not_there(server):
    policy = {"expiration": soon(), "conditions": [{"key": "main/a"}, {"bucket": "absent"}]}
    fields = signed(server, policy)
    url = f"{server.url}/absent"
    answer = requests.post(url, data=fields, files={"file": b"x"}, timeout=60)
    assert refusal(answer)[:2] == (404, "NoSuchBucket")
