"""Foreign code, each module run in a process of its own by ``worker.call``, never imported elsewhere.

A reference run is ``run(arrays, settings) -> (arrays, facts)``. It gets

- the probe batch: ``batch.source`` [B, S] and ``batch.source_valid_lens`` [B], ``batch.token_types`` [B, S] where the model has
  them, and with a decoder ``batch.target`` [B, T], all int64;
- the source's tensors as they were read, ``tensor.NATIVE_NAME``: never the path of the source, whose file may be another one
  by now;
- in ``settings``: ``config`` (the fields of a TransformerConfig), ``max_steps``, ``given`` (the user's settings), ``format``,
  of a folder ``native_settings``, and for what was just written ``path``.

It returns what the model has of ``encoder`` [B, S, D] float, ``pooled`` [B, D] float, ``logits`` [B, T, V] float (causal,
target positions from 0) and ``tokens`` [B, max_steps] int64, greedy ids without the start token, -1 from the end token on; and
the fact ``ran``, in words, what computed them. Frameworks are imported inside the functions.
"""
