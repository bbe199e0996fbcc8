"""Imports of listings: tables of object addresses, from files, S3 Inventories or memory."""
