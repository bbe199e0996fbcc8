"""Test support for Anabranch and for programs that use it."""
