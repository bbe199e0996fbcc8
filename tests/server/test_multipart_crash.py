"""Servers that are killed among uploads in parts: what they acknowledged is there, and nothing is
there by halves.
"""

from __future__ import annotations

import hashlib
import os
import random
import threading
import time

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from support.clients.no_retry_client import Caller
from support.clients.s3_client import s3_client
from support.leftovers import strays
from support.session.sizes import sized

import anabranch
from anabranch.testing.server import running_server

WRITERS = 3
REPOSITORY = "mortal"
BIG = os.urandom(5 << 20)


def client(server):
    return s3_client(
        server, retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}, read_timeout=20
    )


class Writer(threading.Thread):
    """Uploads one object after another in two parts, until the server is gone; in the next life it
    goes on where it was. `whole` has the content of those whose completion was acknowledged.
    """

    def __init__(self, number):
        self.number = number
        self.whole = {}
        self.surprises = []
        self.upload = None
        self.parts = {}
        self.count = 0
        self.begin(None)

    def begin(self, s3):
        super().__init__(name=f"writer-{self.number}")
        self.s3 = s3

    def run(self):
        try:
            while True:
                self.step()
        except ClientError as error:
            self.surprises.append(error)
        except BotoCoreError:
            return

    def step(self):
        if self.upload is None:
            self.count += 1
            self.place = {"Bucket": REPOSITORY, "Key": f"main/{self.name}/{self.count}"}
            self.bodies = {1: BIG, 2: f"{self.name} {self.count}".encode() * 1000}
            self.upload = self.s3.create_multipart_upload(**self.place)["UploadId"]
            self.parts = {}
            return
        named = {**self.place, "UploadId": self.upload}
        for number, body in self.bodies.items():
            if number not in self.parts:
                etag = self.s3.upload_part(**named, PartNumber=number, Body=body)["ETag"]
                self.parts[number] = etag
        listed = [{"PartNumber": number, "ETag": etag} for number, etag in self.parts.items()]
        self.s3.complete_multipart_upload(**named, MultipartUpload={"Parts": listed})
        self.whole[self.place["Key"]] = self.content()
        self.upload = None

    def content(self):
        return self.bodies[1] + self.bodies[2]

    def compare(self, lake):
        """Checks that the parts that were acknowledged are there; or else the object is, whose
        completion was not answered.
        """
        if self.upload is None:
            return
        path = self.place["Key"].removeprefix("main/")
        try:
            _, held = lake.uploads.parts(REPOSITORY, "main", path, self.upload)
        except anabranch.errors.NotFound:
            assert lake.objects.open(REPOSITORY, "main", path).read_bytes() == self.content()
            return
        assert self.parts.items() <= {part.number: f'"{part.checksum}"' for part, _ in held}.items()
        with pytest.raises(anabranch.errors.NotFound):
            lake.objects.stat(REPOSITORY, "main", path)


@pytest.mark.parametrize("lives", [sized(2, weekly=3), pytest.param(10, marks=pytest.mark.slow)])
def test_a_server_that_is_killed_keeps_parts_and_objects(tmp_path, lives, seed):
    moments = random.Random(seed)
    writers = [Writer(number) for number in range(WRITERS)]
    for life in range(lives):
        with running_server(tmp_path) as server:
            if life == 0:
                Caller(server).make_repository(REPOSITORY)
            for writer in writers:
                writer.begin(client(server))
                writer.start()
            until = time.monotonic() + moments.uniform(0.2, 1.2)
            done = sum(len(writer.whole) for writer in writers)
            while time.monotonic() < until or sum(len(w.whole) for w in writers) == done:
                time.sleep(0.01)
            server.process.kill()
            server.process.wait()
            for writer in writers:
                writer.join()
        assert [surprise for writer in writers for surprise in writer.surprises] == []
        with anabranch.open(tmp_path) as lake:
            for writer in writers:
                writer.compare(lake)
    with anabranch.open(tmp_path) as lake:
        for upload in lake.uploads.list(REPOSITORY, amount=100).items:
            lake.uploads.abort(REPOSITORY, upload.branch, upload.path, upload.id)
        for writer in writers:
            for key, content in writer.whole.items():
                path = key.removeprefix("main/")
                assert lake.objects.open(REPOSITORY, "main", path).read_bytes() == content
    assert sum(len(writer.whole) for writer in writers) >= lives
    assert strays(tmp_path) == []


@pytest.mark.slow
def test_two_servers_over_one_folder_share_an_upload(tmp_path):
    place = {"Bucket": REPOSITORY, "Key": "main/a"}
    with running_server(tmp_path) as one, running_server(tmp_path) as other:
        Caller(one).make_repository(REPOSITORY)
        here, there = client(one), client(other)
        named = {**place, "UploadId": here.create_multipart_upload(**place)["UploadId"]}
        bodies = {1: BIG, 2: BIG[::-1], 3: b"end"}
        etags = {}
        for number, s3 in ((1, here), (2, there), (3, here)):
            etags[number] = s3.upload_part(**named, PartNumber=number, Body=bodies[number])["ETag"]
        other.process.kill()
        assert len(here.list_parts(**named)["Parts"]) == 3
    with running_server(tmp_path) as one, running_server(tmp_path) as other:
        listed = [{"PartNumber": number, "ETag": etag} for number, etag in etags.items()]
        answers = [
            client(server).complete_multipart_upload(**named, MultipartUpload={"Parts": listed})
            for server in (one, other)
        ]
        assert answers[0]["ETag"] == answers[1]["ETag"]
        for server in (one, other):
            body = client(server).get_object(**place)["Body"].read()
            assert hashlib.md5(body).digest() == hashlib.md5(b"".join(bodies.values())).digest()
    assert strays(tmp_path) == []
