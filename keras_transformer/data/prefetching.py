"""Batches that are made while the step computes."""

import collections
from concurrent.futures import ThreadPoolExecutor

_END = object()


def prefetched(batches, ahead=2):
    """Yields what an iterator yields, taken from it by a thread a few batches ahead.

    On TensorFlow it takes the place of `tf.data.Dataset.from_generator`, whose first use sets
    glibc's allocator so that from then on every large tensor is mapped into memory anew, page by
    page: where oneDNN is off, a step then takes up to twice as long.

    What the iterator raises is raised here in its turn. Closing this generator, as an exception in
    the loop around it does, ends the thread after the batch that it makes.

    Args:
        batches: an iterator.
        ahead: number of batches made in advance.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="batches")
    try:
        pending = collections.deque(pool.submit(next, batches, _END) for _ in range(ahead))
        while (batch := pending.popleft().result()) is not _END:
            pending.append(pool.submit(next, batches, _END))
            yield batch
    finally:
        pool.shutdown(cancel_futures=True)
