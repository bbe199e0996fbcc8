"""Installations, trees and uploads that lakeFS has written."""
