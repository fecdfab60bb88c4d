import threading
import warnings

import numpy as np
import pytest


@pytest.fixture
def in_threads():
    """Calls ``call(i)`` for each i below count, all at once, and waits for them."""

    def run(call, count):
        threads = [threading.Thread(target=call, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return run


@pytest.fixture
def no_fallbacks_yet():
    """Nothing was said of calls that went to the original, and none was counted."""
    from headroom.torch import _packed, fallbacks

    _packed._said.clear()
    fallbacks(reset=True)


@pytest.fixture
def nothing_said(no_fallbacks_yet):
    """The test hears every warning that a call went to the original, as an error."""
    from headroom.torch import FallbackWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def normal(rng):
    """Random float32 numbers, weights scaled so that products keep their size."""

    def make(*shape):
        scale = 1 / np.sqrt(shape[0]) if len(shape) == 2 else 1
        return (rng.standard_normal(shape) * scale).astype(np.float32)

    return make


@pytest.fixture
def weights(normal):
    """Query, key, value and output of a layer of one width."""

    def make(width=32, kv_width=None, d_in=None, d_proj=None, d_memory=None):
        d_in, kv_width = d_in or width, kv_width or width
        keys = d_memory or d_in
        return {
            "query": normal(d_in, width),
            "key": normal(keys, kv_width),
            "value": normal(keys, kv_width),
            "output": normal(width, d_proj or width),
        }

    return make
