"""moto's S3 for tests: a server on a free port that keeps everything in memory.

    with running_s3() as server:
        server.endpoint, server.make_bucket("lake")

It answers one request at a time, as moto looks first and writes afterwards: what S3 does in one
step is one here too. moto asks of parts that they have 5 MiB; contracts are tested with less. Its
routes end at a line's end: it has no keys with line feeds.

Google's XML interface is S3's but for the names of some headers, so this stands for Google Cloud
Storage too: no emulator of that to be had from a registry stores anything by the interface that
obstore speaks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs

from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.blocks.cloud.store import CloudBlocks
from anabranch.blocks.gcs.store import gcs_blocks
from anabranch.model.secret import Secret
from support.services.google_account import GoogleAccount, without_signature
from support.services.s3_service import CREDENTIALS, S3Service

__all__ = ["EmulatedS3", "running_s3"]

_SIGNED = (
    f"AWS4-HMAC-SHA256 Credential={CREDENTIALS.access_key_id}/20240101/us-east-1/s3/aws4_request, "
    "SignedHeaders=host, Signature=0"
)
"""What moto wants to see, which verifies nothing."""

_NOT_IN_PARTS = (
    "HTTP_IF_NONE_MATCH",
    "HTTP_X_AMZ_COPY_SOURCE",
    "HTTP_X_GOOG_COPY_SOURCE",
    "HTTP_X_GOOG_IF_GENERATION_MATCH",
)

_Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]


class EmulatedS3(S3Service):
    """A server that runs on `port` of 127.0.0.1; `answer` may be set to answer in its place, and
    may have it answer all the same by `pass_on`.
    """

    product = "moto"

    def __init__(self, application: _Wsgi) -> None:
        super().__init__()
        self.answer: _Wsgi | None = None
        self.pass_on = application
        self._lock = threading.Lock()
        self.google = GoogleAccount.new()

    @property
    def google_settings(self) -> dict[str, str]:
        """The environment of a server of ours that takes it for Google's."""
        return {
            "ANABRANCH_BLOCKSTORE_TYPE": "gs",
            "ANABRANCH_BLOCKSTORE_GS_CREDENTIALS_JSON": self.google.file,
            "STORAGE_EMULATOR_HOST": self.endpoint,
        }

    def gcs_blocks(
        self,
        retry_policy: RetryPolicy = RetryPolicy(),  # noqa: B008  frozen
        *,
        port: int | None = None,
        signs: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> CloudBlocks:
        """Returns a block store that takes it for Google's, by way of another port if one is
        given, and has a key unless it `signs` not.
        """
        key = Secret(self.google.file if signs else "")
        endpoint = f"http://127.0.0.1:{port or self.port}"
        return gcs_blocks(
            credentials_json=key, endpoint=endpoint, retry_policy=retry_policy, clock=clock
        )

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        """Answers a request, one at a time."""
        if not environ.get("HTTP_AUTHORIZATION", "").startswith("AWS4"):
            refused = self._refused_by_google(environ)
            _take_for_google(environ)
        else:
            refused = None
        with self._lock:
            refusal = refused or (None if self.answer else _refusal(environ))
            if refusal is None:
                return list((self.answer or self.pass_on)(environ, start))
            status, code = refusal
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start(status, [("Content-Type", "application/xml")])
            return [f"<Error><Code>{code}</Code></Error>".encode()]

    def _refused_by_google(self, environ: dict[str, Any]) -> tuple[str, str] | None:
        """Returns what Google refuses and S3 does not: URLs that are not signed as it wants it,
        and conditions and copies in uploads in parts.
        """
        method, query = environ["REQUEST_METHOD"], environ["QUERY_STRING"]
        path = environ["REQUEST_URI"].partition("?")[0]
        if "X-Goog-" in query and not self.google.admits(method, environ["HTTP_HOST"], path, query):
            return "403 Forbidden", "SignatureDoesNotMatch"
        if "uploadId" in query and any(name in environ for name in _NOT_IN_PARTS):
            return "400 Bad Request", "NotImplemented"
        return None


def _take_for_google(environ: dict[str, Any]) -> None:
    """Gives a request to Google the headers that it has with S3."""
    environ["HTTP_AUTHORIZATION"] = _SIGNED
    environ["QUERY_STRING"] = without_signature(environ["QUERY_STRING"])
    for name in ("REQUEST_URI", "RAW_URI"):  # moto looks there for the bucket, undecoded
        path, _, query = environ[name].partition("?")
        kept = without_signature(query)
        environ[name] = path.replace("%2D", "-") + (f"?{kept}" if kept else "")
    if "HTTP_X_GOOG_COPY_SOURCE" in environ:
        environ["HTTP_X_AMZ_COPY_SOURCE"] = environ["HTTP_X_GOOG_COPY_SOURCE"]
    if environ.get("HTTP_X_GOOG_IF_GENERATION_MATCH") == "0":
        environ["HTTP_IF_NONE_MATCH"] = "*"


def _refusal(environ: dict[str, Any]) -> tuple[str, str] | None:
    """Returns what S3 refuses and moto does not: uploads unknown to a key, and completing one
    where a block is already although there must be none.
    """
    from moto.s3.models import s3_backends

    upload_id = parse_qs(environ["QUERY_STRING"]).get("uploadId")
    if upload_id is None:
        return None
    name, _, key = environ["PATH_INFO"].encode("latin-1").decode()[1:].partition("/")
    bucket = s3_backends["123456789012"]["aws"].buckets[name]
    upload = bucket.multiparts.get(upload_id[0])
    if upload is None or upload.key_name != key:
        return "404 Not Found", "NoSuchUpload"
    completing = environ["REQUEST_METHOD"] == "POST"
    if completing and environ.get("HTTP_IF_NONE_MATCH") and key in bucket.keys:
        return "412 Precondition Failed", "PreconditionFailed"
    return None


@contextmanager
def running_s3() -> Iterator[EmulatedS3]:
    """Runs a server and stops it afterwards. Needs the extra `test`."""
    from moto.moto_server.werkzeug_app import create_backend_app
    from moto.s3 import models
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_request(self, *_: object) -> None:
            pass

    vars(models)["S3_UPLOAD_PART_MIN_SIZE"] = 0
    emulated = EmulatedS3(create_backend_app("s3"))
    server = make_server("127.0.0.1", 0, emulated, threaded=True, request_handler=Quiet)
    emulated.port = server.port
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield emulated
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
