"""Imports of listings: rows that name objects, from files, inventories or memory."""
