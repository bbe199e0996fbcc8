"""Writes the OpenAPI document of the API to standard output, as the server sends it."""

import sys

from anabranch.rest.openapi import openapi
from anabranch.rest.protocol.responses import encode
from anabranch.rest.table import EXTENSIONS, OPERATIONS

sys.stdout.buffer.write(encode(openapi((*OPERATIONS, *EXTENSIONS))))
