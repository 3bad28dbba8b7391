"""Waiting for a condition with a deadline; nothing in these tests sleeps and hopes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

STARTS_WITHIN_SECONDS = 180.0
"""For what waits for stock processes to start: they import more than a busy machine reads in a minute."""


def wait_until(
    condition: Callable[[], T],
    what: str,
    timeout: float = 60.0,
    interval: float = 0.05,
) -> T:
    """Poll `condition` until it returns something true, and return that.

    `what` completes the sentence "waited N s for …". Whatever `condition` raises ends the wait at once, which is how a
    dead process is reported instead of a timeout.
    """
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout:g} s for {what}")
        time.sleep(interval)
