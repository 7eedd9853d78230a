"""One role of MXNet's ``dist_sync``: a worker adds vectors, and the one that is to die is killed between two sums."""

import os
import signal

from transformer_mb.backends.mxnet import shim  # noqa: F401

import mxnet as mx  # isort: skip

if os.environ["DMLC_ROLE"] == "worker":
    store = mx.kv.create("dist_sync")
    store.init(0, mx.nd.zeros(3))
    for number in range(100):
        value = mx.nd.ones(3)
        if number == 5 and os.environ["DIES"] == "True":
            os.kill(os.getpid(), signal.SIGKILL)
        store.pushpull(0, value, out=value)
        value.wait_to_read()
