"""The web interface as the server sends it: the files that `make web` builds from `web/`, with the
headers that confine them, and a page that stands in for them where they were not built.
"""
