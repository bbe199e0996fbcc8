"""Verification of an installation (`anabranch fsck`): whether what is stored is what must be."""
