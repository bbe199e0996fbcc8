"""Requests to addresses that users choose, such as webhooks.

Such a request must not reach what only the server can reach: services on its own machine, its
private network, the metadata service of its cloud. `address_guard` decides which addresses are
permitted, `connection` connects to one of them within a time limit, `http_request` sends requests
and follows redirects.
"""
