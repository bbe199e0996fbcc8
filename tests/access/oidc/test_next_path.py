"""Pages to return to: paths of this server, however an address of another site is written."""

from __future__ import annotations

from urllib.parse import quote, urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.access.oidc.next_path import check_next_path
from anabranch.errors import Invalid


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/repositories",
        "/repositories/sea/objects?ref=main&path=a%2Fb//c",
        "/repositories/sea/",
        "/a%20b",
        "/a#b",
        "/?next=https://example.com",
    ],
)
def test_a_path_of_this_server_is_returned(path):
    assert check_next_path(path) == path


def test_no_path_is_the_home_page():
    assert check_next_path("") == "/"


EVIL = [
    "//evil.example.com",
    "///evil.example.com",
    "/\\evil.example.com",
    "\\\\evil.example.com",
    "/\t/evil.example.com",
    "/\n/evil.example.com",
    "/./\\evil.example.com",
    "/.//evil.example.com",
    "/..//evil.example.com",
    "/a/..//evil.example.com",
]


@pytest.mark.parametrize("path", EVIL)
@pytest.mark.parametrize("times", range(5))
def test_an_address_of_another_site_is_refused_however_often_it_is_encoded(path, times):
    text = path[1:]
    for _ in range(times):
        text = quote(text, safe="")
    with pytest.raises(Invalid) as error:
        check_next_path(path[0] + text)
    assert error.value.kind == "invalid_next_path"


@pytest.mark.parametrize(
    "text",
    [
        "https://evil.example.com",
        "https:evil.example.com",
        "javascript:alert(1)",
        "evil.example.com",
        " /a",
        "/a b",
        "/é",
        "/a\r\nSet-Cookie: b",
        "/a%0d%0aSet-Cookie:%20b",
        "/" + "a" * 2000,
        "/%" + "25" * 20 + "2f",
        "?a",
        "/?\\",
    ],
)
def test_what_is_no_path_is_refused(text):
    with pytest.raises(Invalid):
        check_next_path(text)


@given(st.text(alphabet="/\\.%25fFcC0a:@?#\t\n e", max_size=20))
def test_an_accepted_path_stays_on_this_server(text):
    try:
        path = check_next_path(text)
    except Invalid:
        return
    parts = urlsplit(urljoin("https://lake.example.com/api/v1/oidc/callback", path))
    assert (parts.scheme, parts.netloc) == ("https", "lake.example.com")
    assert path.startswith("/")
    assert not path.startswith(("//", "/\\"))
