"""What a beam search keeps from step to step."""

import numpy as np

from transformer_mb.decoding.inputs import DecodingInputs
from transformer_mb.parity.rows.model_cases import BATCH


def kept(value, seen):
    """Every tensor below a session, by whatever holds it."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, list | tuple):
        inner = value
    else:
        own = type(value).__module__.startswith("transformer_mb.backends")
        inner = [part for name, part in vars(value).items() if name != "model"] if own and hasattr(value, "__dict__") else []
        if not own and hasattr(value, "is_leaf"):
            yield value
    for part in inner:
        yield from kept(part, seen)


def test_no_graph_is_kept(backend, model):
    """Where a framework records what computes with parameters, each step would hold all before it."""
    source, lens = BATCH["source"], BATCH["source_valid_lens"]
    for attend in (False, True):
        tokens = np.full(len(source), model.config.start_id)
        session = backend.start_beam(model, DecodingInputs(tokens, source, lens), 4, 2, attend)
        for _ in range(2):
            session.step(np.repeat(tokens, 2), 4)
            session.reorder(np.arange(2 * len(source))[::-1].copy())
        assert all(tensor.is_leaf for tensor in kept(session, {}))
