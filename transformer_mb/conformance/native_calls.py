"""Layers as a program of one's own calls them: on the framework's tensors, eagerly, in evaluation mode."""

from transformer_mb.trees import map_leaves


def native(backend, arrays):
    """The framework's tensors of arrays, which may nest."""
    return map_leaves(backend._tensor, arrays)


def natively(backend, layer, *inputs, **options):
    return as_they_are(backend, layer, *native(backend, inputs), **native(backend, options))


def as_they_are(backend, layer, *inputs, **options):
    with backend._running(layer):
        return layer(*inputs, **options)


def array(backend, output):
    """A native output as an array, the first one of several."""
    return backend._numpy(output[0] if isinstance(output, tuple) else output)
