"""Who owns what: references, freed arrays and layers, threads at once."""

import gc
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from headroom import Attention


@pytest.fixture
def layer(weights):
    return Attention(**weights(), heads=4, tokens=64)


def test_calls_keep_no_reference(layer, normal):
    x, out = normal(4, 32), np.empty((4, 32), np.float32)
    cache = layer.cache(4000)
    counted = (layer, x, out, cache)
    layer(x, out, cache=cache)
    before = [sys.getrefcount(one) for one in counted]
    for _ in range(500):
        assert layer(x, out, lengths=[4], cache=cache) is out
        with pytest.raises(TypeError):
            layer(x.astype(np.float64), out)
        with pytest.raises(ValueError):
            layer(x, x)
    assert [sys.getrefcount(one) for one in counted] == before


def test_a_result_belongs_to_its_caller(layer, normal):
    x = normal(4, 32)
    y = layer(x)
    assert sys.getrefcount(y) == sys.getrefcount(x)
    want = y.copy()
    layer(normal(4, 32))
    assert np.array_equal(y, want)


def test_a_layer_copies_its_weights(weights, normal):
    parts = weights()
    layer = Attention(**parts, heads=4, tokens=8)
    x = normal(8, 32)
    want = layer(x)
    references = [weakref.ref(part) for part in parts.values()]
    for part in parts.values():
        part[:] = np.nan
    del parts, part
    gc.collect()
    assert all(reference() is None for reference in references)
    assert np.array_equal(layer(x), want)


def test_a_cache_outlives_the_name_of_its_layer(weights, normal):
    layer = Attention(**weights(), heads=4, tokens=8)
    cache = layer.cache(8)
    layer(normal(8, 32), cache=cache)
    del layer
    gc.collect()
    assert cache.lengths == [8]
    cache.truncate(3)
    cache.clear()
    assert cache.lengths == [0]


def test_an_array_dropped_by_its_owner_while_a_call_reads_it(layer, rng):
    """The call holds it: another thread drops the last name and fills the memory that is free."""
    holder = {"x": rng.standard_normal((64, 32)).astype(np.float32)}
    want = layer(holder["x"])
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            holder.pop("x", None)
            np.full((64, 32), np.nan, np.float32)

    copy = holder["x"].copy()
    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(200):
            holder["x"] = copy.copy()
            x = holder.get("x")
            if x is not None:
                y = layer(x)
                assert np.array_equal(y, want)
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("backend", ["xsimd", "tbb"])
def test_threads_that_share_a_layer_take_turns(weights, normal, backend, in_threads):
    layer = Attention(**weights(), heads=4, tokens=64, backend=backend)
    xs = [normal(1 + 7 * i, 32) for i in range(8)]
    want = [layer(x) for x in xs]
    wrong = []

    def call(i):
        cache = layer.cache(64)
        for _ in range(50):
            cache.clear()
            if not np.array_equal(layer(xs[i]), want[i]):
                wrong.append(i)
            if not np.array_equal(layer(xs[i], cache=cache), want[i]):
                wrong.append(i)

    in_threads(call, 8)
    assert not wrong


def test_the_interpreter_runs_during_a_call(weights, normal):
    """Another thread gets on while one call computes: it counts during the call, not only after."""
    layer = Attention(**weights(width=512), heads=8, tokens=1024, backend="xsimd")
    x, out = normal(1024, 512), np.empty((1024, 512), np.float32)
    steps, started, stop = [0], threading.Event(), threading.Event()

    def count():
        started.set()
        while not stop.is_set():
            steps[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e3)  # nobody is made to give way, so only an unlocked call lets it run
    try:
        thread.start()
        started.wait()
        before = steps[0]
        layer(x, out)
        during = steps[0] - before
        stop.set()
    finally:
        sys.setswitchinterval(old)
        stop.set()
        thread.join()
    assert during > 0
