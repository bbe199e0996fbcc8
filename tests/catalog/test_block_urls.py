"""Our own presigned URLs: one deed each, and nothing else."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.catalog.block_urls import BLOCK_PATH, BlockUrls, Deed
from anabranch.errors import Denied

NOW = 1_700_000_000
SECRET = b"a secret of the servers"


def urls(secret=SECRET, now=NOW):
    return BlockUrls(secret, lambda: now)


def signature_of(url):
    return parse_qs(urlsplit(url).query)["signature"][0]


def refusal(deed, signature, **options):
    with pytest.raises(Denied) as caught:
        urls(**options).admit(deed, signature)
    return caught.value.kind


texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=30)
deeds = st.builds(
    Deed,
    method=st.sampled_from(["GET", "PUT"]),
    address=texts,
    expires=st.integers(NOW + 1, NOW + 10_000),
    upload_id=texts,
    part=st.integers(1, 10_000),
)


@given(deeds)
def test_a_url_says_what_it_permits(deed):
    url = urls().sign(deed)
    query = parse_qs(urlsplit(url).query, keep_blank_values=True)
    assert urlsplit(url).path == BLOCK_PATH
    assert query["address"] == [deed.address]
    assert query["expires"] == [str(deed.expires)]
    assert (query["upload"], query["part"]) == ([deed.upload_id], [str(deed.part)])
    urls().admit(deed, query["signature"][0])


def test_a_url_says_when_it_expires_as_those_of_s3_do():
    url = urls().sign(Deed("PUT", "local://a", NOW + 60, "upload", 1))
    query = parse_qs(urlsplit(url).query)
    assert query["X-Amz-Date"] == ["20231114T221320Z"]
    assert query["X-Amz-Expires"] == ["60"]


@given(deeds, deeds)
def test_a_signature_permits_one_deed(deed, other):
    signature = signature_of(urls().sign(deed))
    if other != deed:
        assert refusal(other, signature) == "signature_mismatch"
    for name in Deed._fields:
        changed = deed._replace(**{name: getattr(other, name)})
        if changed != deed:
            assert refusal(changed, signature) == "signature_mismatch"


def test_what_runs_together_is_not_the_same():
    one = Deed("PUT", "local://a", NOW + 1, "b", 1)
    other = Deed("PUT", "local://ab", NOW + 1, "", 1)
    assert signature_of(urls().sign(one)) != signature_of(urls().sign(other))


@pytest.mark.parametrize("damage", [str.upper, lambda text: text[:-1], lambda _: "", lambda _: "ü"])
def test_a_damaged_signature(damage):
    deed = Deed("GET", "local://a", NOW + 1)
    assert refusal(deed, damage(signature_of(urls().sign(deed)))) == "signature_mismatch"


def test_another_secret_signs_something_else():
    deed = Deed("GET", "local://a", NOW + 1)
    signature = signature_of(urls().sign(deed))
    assert refusal(deed, signature, secret=b"another") == "signature_mismatch"


def test_it_expires():
    deed = Deed("GET", "local://a", NOW + 60)
    signature = signature_of(urls().sign(deed))
    urls(now=NOW + 59.9).admit(deed, signature)
    assert refusal(deed, signature, now=NOW + 60) == "url_expired"
