"""Requests to addresses that users choose: responses, redirects, limits, and attacks on them."""

import ipaddress
import socket
import ssl
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from support.http_servers import answer, serving
from support.session.free_port import free_port

from anabranch.errors import Busy, Invalid
from anabranch.outbound.address_guard import AddressGuard
from anabranch.outbound.http_request import SAME_REQUEST, send_request

HERE = AddressGuard(["127.0.0.0/8"])


def send(url, method="GET", **options):
    defaults = {"guard": HERE, "timeout": 60, "max_response_bytes": 1000}
    return send_request(method, url, **{**defaults, **options})


def test_a_request_arrives_as_it_was_given():
    with serving(answer(201, b"made", X_One="1")) as (port, seen):
        response = send(
            f"http://127.0.0.1:{port}/a b/é?q=ü&x=%20#part".replace(" ", "%20"),
            "POST",
            headers={"X-Token": "secret", "Content-Type": "text/plain"},
            body=b"\x00body",
        )
    assert (response.status, response.body, response.headers["x-one"]) == (201, b"made", "1")
    ((method, path, headers, body),) = seen
    assert (method, path, body) == ("POST", "/a%20b/%C3%A9?q=%C3%BC&x=%20", b"\x00body")
    assert headers["Host"] == f"127.0.0.1:{port}"
    assert headers["X-Token"] == "secret"
    assert headers["User-Agent"] == "anabranch"


def test_user_and_password_of_the_address_are_sent_as_basic_authentication():
    with serving(answer()) as (port, seen):
        send(f"http://ada:p%40ss@127.0.0.1:{port}/")
    assert seen[0][2]["Authorization"] == "Basic YWRhOnBAc3M="
    assert "ada" not in seen[0][2]["Host"]


@pytest.mark.parametrize("status", [204, 304, 400, 500])
def test_other_statuses_are_returned(status):
    with serving(answer(status)) as (port, _):
        assert send(f"http://127.0.0.1:{port}").status == status


def test_nothing_is_sent_to_an_address_that_is_not_permitted():
    with serving(answer()) as (port, seen):
        for host in ("127.0.0.1", "localhost", "127.1", "[::ffff:127.0.0.1]"):
            with pytest.raises(Invalid) as denied:
                send(f"http://{host}:{port}/", guard=AddressGuard())
            assert denied.value.kind == "address_denied"
    assert seen == []


def test_redirects_to_addresses_that_are_not_permitted_are_refused():
    with serving(answer()) as (inner, reached):
        target = f"http://127.0.0.2:{inner}/latest/meta-data"
        with serving(answer(302, Location=target)) as (port, _), pytest.raises(Invalid) as denied:
            send(f"http://127.0.0.1:{port}/", guard=AddressGuard(["127.0.0.1"]))
    assert denied.value.kind == "address_denied"
    assert reached == []


def test_a_name_whose_address_changes_after_the_check_leads_to_the_checked_address():
    resolved = []

    def resolve(host, port, **_):
        resolved.append(host)
        # the second lookup, which must not happen, leads elsewhere
        address = "127.0.0.1" if len(resolved) == 1 else "127.0.0.2"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    with serving(answer(body=b"checked")) as (port, seen):
        guard = AddressGuard(["127.0.0.1"], resolve=resolve)
        assert send(f"http://rebind.example:{port}/", guard=guard).body == b"checked"
    assert resolved == ["rebind.example"]
    assert seen[0][2]["Host"] == f"rebind.example:{port}"


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "PUT", "GET"),
        (307, "POST", "POST"),
        (308, "PUT", "PUT"),
        (302, "HEAD", "HEAD"),
        (303, "HEAD", "HEAD"),
    ],
)
def test_redirects_are_followed_as_http_says(status, method, then):
    def respond(handler):
        is_first = handler.path == "/first/hook"
        answer(status, Location="../second?x=1")(handler) if is_first else answer()(handler)

    body = b"" if method == "HEAD" else b"content"
    with serving(respond) as (port, seen):
        url = f"http://127.0.0.1:{port}/first/hook"
        headers = {"Authorization": "Bearer x", "Content-Type": "text/plain"}
        assert send(url, method, body=body, headers=headers).status == 200
    assert [each[:2] for each in seen] == [(method, "/first/hook"), (then, "/second?x=1")]
    assert seen[1][3] == (body if then == method else b"")
    assert ("Content-Type" in seen[1][2]) == (status in (302, 307, 308) and then == method)
    assert seen[1][2]["Authorization"] == "Bearer x"


def test_secrets_do_not_follow_a_redirect_to_another_host():
    with serving(answer()) as (other, seen):
        target = f"http://127.0.0.1:{other}/"
        with serving(answer(307, Location=target)) as (port, first):
            headers = {"Authorization": "Bearer x", "X-Api-Key": "k", "Cookie": "c=1"}
            headers["Content-Type"] = "text/plain"
            send(f"http://u:p@127.0.0.1:{port}/", "POST", headers=headers, body=b"b")
    assert first[0][2].keys() >= headers.keys()
    assert seen[0][2].keys() & headers.keys() == {"Content-Type"}
    assert "u:p" not in str(seen)


@pytest.mark.parametrize(
    ("location", "kind"),
    [
        ("/", "redirect_refused"),  # for ever
        ("file:///etc/passwd", "redirect_refused"),
        ("gopher://127.0.0.1/", "redirect_refused"),
        ("http://[::1", "redirect_refused"),
        ("http://127.0.0.1:99999/", "redirect_refused"),
        ("//169.254.169.254/latest", "address_denied"),
    ],
)
def test_bad_redirects_are_refused(location, kind):
    with serving(answer(302, Location=location)) as (port, seen):
        with pytest.raises(Invalid) as refused:
            send(f"http://127.0.0.1:{port}/")
        assert refused.value.kind == kind
    assert len(seen) == (6 if location == "/" else 1)


@pytest.mark.parametrize(("status", "followed"), [(302, 1), (303, 1), (307, 6), (308, 6)])
def test_redirects_that_lose_the_body_can_be_left_to_the_caller(status, followed):
    with serving(answer(status, Location="/")) as (port, seen):
        if followed == 1:
            found = send(f"http://127.0.0.1:{port}/", "POST", body=b"x", redirects=SAME_REQUEST)
            assert found.status == status
        else:
            with pytest.raises(Invalid):
                send(f"http://127.0.0.1:{port}/", "POST", body=b"x", redirects=SAME_REQUEST)
    assert [(method, body) for method, _, _, body in seen] == [("POST", b"x")] * followed


def test_redirects_can_be_left_to_the_caller_by_the_limit():
    with serving(answer(302, Location="/")) as (port, seen), pytest.raises(Invalid):
        send(f"http://127.0.0.1:{port}/", max_redirects=0)
    assert len(seen) == 1


@pytest.mark.parametrize("size", [999, 1000, 1001, 5_000_000])
def test_bodies_are_cut_off_at_the_limit(size):
    with serving(answer(body=b"x" * size)) as (port, _):
        response = send(f"http://127.0.0.1:{port}/")
    assert response.body == b"x" * min(size, 1000)
    assert response.is_truncated == (size > 1000)


@contextmanager
def playing(play):
    """Yields the port of a server of one connection, which `play` gets."""
    stopped = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run():
            connection, _ = listener.accept()
            with connection:
                try:
                    play(connection, stopped)
                except OSError:
                    stopped.set()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        stopped.set()
        thread.join(60)
        assert not thread.is_alive()


def drip(*pieces):
    """Sends pieces again and again, always long before a socket's own timeout."""

    def play(connection, stopped):
        connection.sendall(pieces[0])
        while not stopped.wait(0.02):
            connection.sendall(pieces[-1])

    return play


@pytest.mark.parametrize(
    "play",
    [
        lambda _, stopped: stopped.wait(),
        drip(b"HTTP/1.1 200 OK\r\n", b"x"),
        drip(b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
        drip(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x"),
        drip(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
)
@pytest.mark.sample(1)
def test_a_server_that_is_slow_for_ever_is_given_up_at_the_time_limit(play):
    began = time.monotonic()
    with playing(play) as port, pytest.raises(Busy) as failed:
        send(f"http://127.0.0.1:{port}/", timeout=0.5, max_response_bytes=1 << 20)
    assert failed.value.kind == "outbound_timeout"
    assert time.monotonic() - began < 30


@pytest.mark.slow
def test_a_body_that_nobody_reads_is_given_up_at_the_time_limit():
    with playing(lambda _, stopped: stopped.wait()) as port, pytest.raises(Busy) as failed:
        send(f"http://127.0.0.1:{port}/", "POST", body=b"x" * (64 << 20), timeout=0.5)
    assert failed.value.kind == "outbound_timeout"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 999999 OK\r\n\r\n",
    ],
)
def test_nonsense_and_cut_off_responses_are_failures(content):
    def play(connection, _):
        connection.recv(1 << 16)
        connection.sendall(content)

    with playing(play) as port, pytest.raises(Busy) as failed:
        send(f"http://127.0.0.1:{port}/")
    assert failed.value.kind == "outbound_failed"


def test_a_server_that_is_not_there_is_a_failure():
    with pytest.raises(Busy, match="refused"):
        send(f"http://127.0.0.1:{free_port()}/")


def test_the_next_address_is_tried_if_one_does_not_accept():
    def resolve(_host, port, **_):
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in ("127.0.0.3", "127.0.0.1")
        ]

    with serving(answer(body=b"second")) as (port, _):
        guard = AddressGuard(["127.0.0.0/8"], resolve=resolve)
        assert send(f"http://two.example:{port}/", guard=guard).body == b"second"


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "hook.example/",
            "ftp://hook.example/",
            "file:///etc/passwd",
            "https://",
            "http:///x",
        ),
        *("http://:80/", "http://[::1/", "http://a..b/", "http://h:0/", "http://h:99999/"),
        *("http://h:x/", "http://h/a b", "http://h/\r\nX: y", "http://h\t/", "\nhttp://h/"),
        *("http://h/\x00", "javascript:alert(1)", "unix:///run/docker.sock"),
        "http://" + "a" * 64 + ".example/",
    ],
)
def test_what_is_no_address_of_http_is_refused(url):
    with pytest.raises(Invalid) as refused:
        send(url)
    assert refused.value.kind == "invalid_url"


@pytest.mark.parametrize(
    "headers",
    [
        {"X": "a\r\nY: b"},
        {"X": "a\nb"},
        {"X\r\nY": "a"},
        {"X: Y": "a"},
        {"": "a"},
        {"Host": "other"},
        {"content-length": "3"},
        {"Transfer-Encoding": "chunked"},
        {"X": "\u20ac"},
    ],
)
def test_headers_that_would_change_the_request_are_refused(headers):
    with pytest.raises(Invalid) as refused:
        send("http://127.0.0.1:9/", headers=headers)
    assert refused.value.kind == "invalid_header"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed certificate of `hook.example` with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hook.example")])
    names = [x509.DNSName("hook.example"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(made.public_bytes(Encoding.PEM) + private)
    return file


@pytest.fixture(scope="module")
def server_tls(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def here(_host, port, **_):
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


def test_certificates_are_verified_by_the_name_of_the_address(certificate, server_tls):
    trusted = ssl.create_default_context(cafile=certificate)
    guard = AddressGuard(["127.0.0.1"], resolve=here)
    with serving(answer(body=b"secure"), server_tls) as (port, seen):
        for host, tls, problem in (
            ("hook.example", None, "self-signed"),
            ("other.example", trusted, "not valid for 'other.example'"),
        ):
            with pytest.raises(Busy, match=problem):
                send(f"https://{host}:{port}/", guard=guard, tls=tls)
        assert seen == []
        found = send(f"https://hook.example:{port}/", guard=guard, tls=trusted)
        assert found.body == b"secure"


def test_a_redirect_from_https_to_http_is_refused(certificate, server_tls):
    trusted = ssl.create_default_context(cafile=certificate)
    with serving(answer()) as (plain, reached):
        target = f"http://127.0.0.1:{plain}/"
        redirecting = serving(answer(302, Location=target), server_tls)
        with redirecting as (port, _), pytest.raises(Invalid, match="from https to http"):
            send(f"https://127.0.0.1:{port}/", tls=trusted)
    assert reached == []


def test_a_handshake_that_does_not_end_is_given_up_at_the_time_limit():
    with playing(lambda _, stopped: stopped.wait()) as port, pytest.raises(Busy) as failed:
        send(f"https://127.0.0.1:{port}/", timeout=0.5)
    assert failed.value.kind == "outbound_timeout"
