from __future__ import annotations

NONE = "NumPy has no attention."
ABSENT = {
    "attention": NONE,
    "attention_gradients": NONE,
    "attention_with_dropout": NONE,
    "multi_head_attention": NONE,
    "fresh_multi_head_attention": NONE,
    "encoder": NONE,
}
