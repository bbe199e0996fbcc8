"""This server's presigned URLs: each grants one operation and nothing else."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.catalog.presigning.presigned_urls import BLOCK_PATH, PresignedUrls, UrlGrant
from anabranch.errors import Denied

NOW = 1_700_000_000
SECRET = b"a secret of the servers"


def urls(secret=SECRET, now=NOW):
    return PresignedUrls(secret, lambda: now)


def signature_of(url):
    return parse_qs(urlsplit(url).query)["signature"][0]


def refusal(grant, signature, **options):
    with pytest.raises(Denied) as caught:
        urls(**options).verify(grant, signature)
    return caught.value.kind


texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=30)
deeds = st.builds(
    UrlGrant,
    method=st.sampled_from(["GET", "PUT"]),
    address=texts,
    expires=st.integers(NOW + 1, NOW + 10_000),
    upload_id=texts,
    part=st.integers(1, 10_000),
)


@given(deeds)
def test_a_url_says_what_it_permits(grant):
    url = urls().sign(grant)
    query = parse_qs(urlsplit(url).query, keep_blank_values=True)
    assert urlsplit(url).path == BLOCK_PATH
    assert query["address"] == [grant.address]
    assert query["expires"] == [str(grant.expires)]
    assert (query["upload"], query["part"]) == ([grant.upload_id], [str(grant.part)])
    urls().verify(grant, query["signature"][0])


def test_a_url_says_when_it_expires_as_those_of_s3_do():
    url = urls().sign(UrlGrant("PUT", "local://a", NOW + 60, "upload", 1))
    query = parse_qs(urlsplit(url).query)
    assert query["X-Amz-Date"] == ["20231114T221320Z"]
    assert query["X-Amz-Expires"] == ["60"]


@given(deeds, deeds)
def test_signature_permits_one_grant(grant, other):
    signature = signature_of(urls().sign(grant))
    if other != grant:
        assert refusal(other, signature) == "signature_mismatch"
    for name in UrlGrant._fields:
        changed = grant._replace(**{name: getattr(other, name)})
        if changed != grant:
            assert refusal(changed, signature) == "signature_mismatch"


def test_adjacent_fields_are_not_confused():
    one = UrlGrant("PUT", "local://a", NOW + 1, "b", 1)
    other = UrlGrant("PUT", "local://ab", NOW + 1, "", 1)
    assert signature_of(urls().sign(one)) != signature_of(urls().sign(other))


@pytest.mark.parametrize("damage", [str.upper, lambda text: text[:-1], lambda _: "", lambda _: "ü"])
def test_a_damaged_signature(damage):
    grant = UrlGrant("GET", "local://a", NOW + 1)
    assert refusal(grant, damage(signature_of(urls().sign(grant)))) == "signature_mismatch"


def test_another_secret_signs_something_else():
    grant = UrlGrant("GET", "local://a", NOW + 1)
    signature = signature_of(urls().sign(grant))
    assert refusal(grant, signature, secret=b"another") == "signature_mismatch"


def test_it_expires():
    grant = UrlGrant("GET", "local://a", NOW + 60)
    signature = signature_of(urls().sign(grant))
    urls(now=NOW + 59.9).verify(grant, signature)
    assert refusal(grant, signature, now=NOW + 60) == "url_expired"
