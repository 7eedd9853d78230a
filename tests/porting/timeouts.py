"""A test that waits must not wait for ever."""

import signal
from contextlib import contextmanager


@contextmanager
def alarm(seconds):
    def ring(*_):
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
