"""Graceful handling of Ctrl-C."""

import contextlib
import signal
import threading


@contextlib.contextmanager
def interrupt_flag():
    """Turns the first Ctrl-C into a request to stop; a second one raises KeyboardInterrupt.

    Yields:
        A `threading.Event` that Ctrl-C sets. Outside the main thread, which alone receives signals,
        it is never set.
    """
    stop_requested = threading.Event()

    def handle_sigint(signal_number, frame):
        if stop_requested.is_set():
            raise KeyboardInterrupt
        stop_requested.set()
        print(
            "\nStopping after this step. Press Ctrl-C again to quit at once without saving.",
            flush=True,
        )

    if threading.current_thread() is not threading.main_thread():
        yield stop_requested
        return
    previous = signal.signal(signal.SIGINT, handle_sigint)
    try:
        yield stop_requested
    finally:
        signal.signal(signal.SIGINT, previous)
