"""Stopping at a good moment."""

import contextlib
import signal
import threading


@contextlib.contextmanager
def interrupt_flag():
    """Lets Ctrl-C ask for an end instead of ending at once; the second one ends at once.

    Yields:
        A `threading.Event`, set by Ctrl-C. Outside the main thread, which alone hears Ctrl-C, it
        stays clear.
    """
    asked = threading.Event()

    def ask(signal_number, frame):
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        print("\nStopping after this step; once more stops at once, without saving.", flush=True)

    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    previous = signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, previous)
