"""Waiting on a condition with a deadline: the only way these tests wait."""
import os
import time

PATIENCE = float(os.environ.get("IDEM_PATIENCE", "3"))  # more under sanitizers and valgrind, less where red is expected


def until(condition, what, timeout=30.0, every=0.05):
    """The first true answer of condition(); AssertionError naming what never came."""
    deadline = time.monotonic() + timeout * PATIENCE
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"after {timeout * PATIENCE:.0f} s still waiting for {what() if callable(what) else what}")
        time.sleep(every)


def stays(condition, what, seconds, every=0.1):
    """The condition holds the whole time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert condition(), f"did not stay: {what}"
        time.sleep(every)
