"""What the end to end tests share: servers, the host under test, events, and the checker of the invariants."""
