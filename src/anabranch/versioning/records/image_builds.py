"""The format of image build states: JSON records of Anabranch's own under `image-builds/`.

partition                    key                   value
(the repository of images's) image-builds/TAG/ID   JobStatus
"""

from __future__ import annotations

import msgspec

from anabranch.errors import Corrupt
from anabranch.model.tasks.job import JobStatus
from anabranch.versioning.records.jobs import JobFormat

__all__ = ["IMAGE_BUILDS"]

_DECODER = msgspec.json.Decoder(JobStatus)


def _decode(raw: bytes) -> JobStatus:
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corrupt(f"the record of an image build cannot be read: {error}") from error


IMAGE_BUILDS = JobFormat(b"image-builds/", msgspec.json.encode, _decode)
