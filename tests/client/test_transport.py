"""Connections: kept, found dead, refused in the middle of a body, through a proxy, over TLS."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Callable

import pytest

from anabranch.client.transport import Transport, TransportError

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def serve(*plays: Callable[[socket.socket], None], context: ssl.SSLContext | None = None) -> str:
    """Starts a socket that hands each connection to one of the plays; returns its address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        with listener:
            for play in plays:
                connection, _ = listener.accept()
                try:
                    if context:
                        connection = context.wrap_socket(connection, server_side=True)
                    with connection:
                        play(connection)
                except OSError:
                    connection.close()

    threading.Thread(target=run, daemon=True).start()
    return f"127.0.0.1:{listener.getsockname()[1]}"


def head(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(1)
    return data


def get(transport: Transport) -> bytes:
    answer = transport.send("GET", "/x", {})
    try:
        return answer.read()
    finally:
        answer.close()


def test_aborted_requests_fail_and_no_others_begin():
    waiting = threading.Event()
    broken = threading.Event()

    def play(connection):
        head(connection)
        waiting.set()
        while connection.recv(1):
            pass
        broken.set()

    transport = Transport(f"http://{serve(play)}", {})
    failed = []

    def ask():
        with pytest.raises(TransportError) as error:
            get(transport)
        failed.append(error.value)

    thread = threading.Thread(target=ask)
    thread.start()
    assert waiting.wait(60)
    transport.abort()
    thread.join(60)
    assert failed
    assert not failed[0].unsent
    assert broken.wait(60)
    with pytest.raises(TransportError) as error:
        get(transport)
    assert error.value.unsent


def test_a_connection_is_used_again():
    seen = []

    def play(connection):
        for _ in range(3):
            seen.append(head(connection))
            connection.sendall(OK)

    transport = Transport(f"http://{serve(play)}", {})
    assert [get(transport) for _ in range(3)] == [b"ok"] * 3
    assert len(seen) == 3
    transport.close()


def test_an_idle_connection_that_the_server_closed_is_not_used():
    closed = threading.Event()

    def once(connection):
        head(connection)
        connection.sendall(OK)
        connection.shutdown(socket.SHUT_RDWR)
        closed.set()

    transport = Transport(f"http://{serve(once, once)}", {})
    assert get(transport) == b"ok"
    assert closed.wait(60)
    assert get(transport) == b"ok"


def test_a_body_not_read_to_its_end_costs_its_connection():
    def play(connection):
        head(connection)
        connection.sendall(OK)

    transport = Transport(f"http://{serve(play, play)}", {})
    transport.send("GET", "/x", {}).close()
    assert get(transport) == b"ok"


@pytest.mark.parametrize("headers", [{}, {"Content-Length": str(64 << 20)}])
def test_a_refusal_in_the_middle_of_a_body_is_heard(headers):
    def play(connection):
        head(connection)
        connection.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
        connection.shutdown(socket.SHUT_WR)
        # what a server does that refuses: it reads on for a while, then hangs up
        connection.recv(1 << 20)

    transport = Transport(f"http://{serve(play)}", {})
    body = (bytes(1 << 20) for _ in range(64))
    answer = transport.send("POST", "/x", headers, body)
    assert (answer.status, answer.read()) == (401, b"no")
    answer.close()


def test_an_error_while_the_body_is_made_is_not_the_connection():
    def play(connection):
        connection.recv(1 << 20)

    def body():
        yield b"x"
        raise RuntimeError("of the body")

    transport = Transport(f"http://{serve(play)}", {})
    with pytest.raises(RuntimeError, match="of the body"):
        transport.send("POST", "/x", {}, body())


@pytest.mark.parametrize(
    ("name", "text"),
    [("http_proxy", "http://jane:s%40y@{}"), ("HTTP_PROXY", "{}"), ("ALL_PROXY", "http://{}")],
)
def test_a_proxy_is_asked_for_the_whole_address(name, text):
    seen = []

    def play(connection):
        seen.append(head(connection))
        connection.sendall(OK)

    transport = Transport("http://lake.invalid:81", {name: text.format(serve(play))})
    assert get(transport) == b"ok"
    assert seen[0].startswith(b"GET http://lake.invalid:81/x HTTP/1.1\r\nHost: lake.invalid:81\r\n")
    assert (b"Proxy-Authorization: Basic amFuZTpzQHk=" in seen[0]) == ("jane" in text)


@pytest.mark.parametrize(
    "excluded", ["127.0.0.1", "127.0.0.1:{port}", "*", "example.com, 127.0.0.1"]
)
def test_some_addresses_are_asked_without_the_proxy(excluded):
    def play(connection):
        head(connection)
        connection.sendall(OK)

    address = serve(play)
    excluded = excluded.format(port=address.partition(":")[2])
    environment = {"http_proxy": "http://127.0.0.1:9", "no_proxy": excluded}
    assert get(Transport(f"http://{address}", environment)) == b"ok"
    environment["no_proxy"] = "27.0.0.1,example.com,127.0.0.1:1"
    with pytest.raises(TransportError):
        get(Transport(f"http://{serve(play)}", environment))


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "http://a..b"])
def test_what_cannot_be_reached_has_sent_nothing(address):
    with pytest.raises(TransportError) as caught:
        get(Transport(address, {}))
    assert caught.value.unsent
    assert str(caught.value)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-keyout", str(key), "-out", str(cert), "-days", "1"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl here to make a certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return cert, context


def test_tls_only_with_a_certificate_that_is_trusted(certificate, monkeypatch):
    cert, context = certificate

    def play(connection):
        for _ in range(2):
            head(connection)
            connection.sendall(OK)

    server = f"https://{serve(play, play, context=context)}"
    with pytest.raises(TransportError, match="CERTIFICATE_VERIFY_FAILED") as caught:
        get(Transport(server, {}))
    assert caught.value.unsent
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    transport = Transport(server, {})
    assert [get(transport), get(transport)] == [b"ok", b"ok"]
