"""HTTP: connections, requests, responses, and the dispatcher between them and the gateways."""
