"""Foreign code, each module run in a process of its own by ``worker.call``, never imported elsewhere.

A runner is ``run(arrays, settings) -> (arrays, facts)``. For a proof ``arrays`` is the probe batch: ``source`` [B, S] and
``source_valid_lens`` [B], and with a decoder ``target`` [B, T], all int64; ``settings`` holds ``path``, ``config`` (the
fields of a TransformerConfig), ``max_steps``, and ``given``, the user's settings. It returns what the model has of
``encoder`` [B, S, D] float, ``logits`` [B, T, V] float (causal, target positions from 0) and ``tokens`` [B, max_steps]
int64: greedy ids without the start token, -1 from the end token on. Frameworks are imported inside the functions.
"""
