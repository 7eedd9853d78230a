"""torch.export of layers and models for batches and lengths of any size."""

import pytest
import torch
from torch.export import Dim, export

import transformer_mb as tmb
from transformer_mb.backends.torch import MultiHeadAttention

B, T, S = (Dim(name, min=1, max=64) for name in ("B", "T", "S"))


def test_attention_is_exported_for_any_size():
    attention = MultiHeadAttention(16, 16, 16, 16, 4, 0.1).eval()
    sizes = {"queries": {0: B, 1: T}, "keys": {0: B, 1: S}, "values": {0: B, 1: S}, "valid_lens": {0: B}}
    queries, keys, lens = torch.randn(3, 7, 16), torch.randn(3, 5, 16), torch.tensor([5, 3, 0])
    exported = export(attention, (queries, keys, keys, lens), dynamic_shapes=sizes, strict=False).module()
    for rows in (1, 4):
        queries, keys, lens = torch.randn(rows, 9, 16), torch.randn(rows, 20, 16), torch.randint(0, 20, (rows,))
        torch.testing.assert_close(exported(queries, keys, keys, lens), attention(queries, keys, keys, lens))


@pytest.mark.filterwarnings("ignore:The tensor attributes .* were assigned during export")  # tables of positions
def test_a_model_is_exported_for_any_size():
    model = tmb.get_backend("torch").build(tmb.presets.d2l(20, 20)).eval()

    def batch(rows, source_steps, target_steps):
        source, target = torch.randint(0, 20, (rows, source_steps)), torch.randint(0, 20, (rows, target_steps))
        return source, target, torch.randint(1, source_steps + 1, (rows,))

    sizes = ({0: B, 1: S}, {0: B, 1: T}, {0: B})
    exported = export(model, batch(3, 7, 5), dynamic_shapes=sizes, strict=False).module()
    for rows in (1, 4):
        given = batch(rows, 9, 6)
        torch.testing.assert_close(exported(*given)[0], model(*given)[0])
