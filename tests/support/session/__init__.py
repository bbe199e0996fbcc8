"""What a run of the tests shares: tiers, scheduling, Hypothesis' profiles, services and servers."""
