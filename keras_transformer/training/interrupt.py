"""Graceful handling of Ctrl-C and of SIGTERM, which schedulers and containers send."""

import contextlib
import os
import signal
import threading

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def interrupt_flag():
    """Turns the first Ctrl-C or SIGTERM into a request to stop; a second one stops at once.

    Yields:
        A `threading.Event` that the signal sets. Outside the main thread, which alone receives
        signals, it is never set.
    """
    stop_requested = threading.Event()

    def handle(signal_number, frame):
        if stop_requested.is_set():
            raise KeyboardInterrupt
        stop_requested.set()
        print(
            "\nStopping after this step. Press Ctrl-C again to quit at once without saving.",
            flush=True,
        )

    with _handler(handle):
        yield stop_requested


@contextlib.contextmanager
def interruptible():
    """Makes Ctrl-C and SIGTERM raise KeyboardInterrupt; a second one ends the process at once.

    Libraries can catch the exception, for example in a callback, so that the first signal has no
    effect.
    """

    def handle(signal_number, frame):
        signal.signal(signal_number, lambda *_: os._exit(128 + signal_number))
        raise KeyboardInterrupt

    with _handler(handle):
        yield


@contextlib.contextmanager
def _handler(handle):
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # A process that ignores Ctrl-C keeps ignoring it: shells start background processes like that.
    heeded = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, handle) for number in heeded}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
