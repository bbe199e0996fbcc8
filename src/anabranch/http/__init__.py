"""HTTP as both gateways know it: requests, responses, and how operations are executed."""
