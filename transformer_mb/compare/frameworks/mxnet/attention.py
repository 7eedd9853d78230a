from __future__ import annotations

NONE = "MXNet 1.9 has matrix products for packed heads, but no attention: its users write it."
ABSENT = {
    "attention": NONE,
    "attention_gradients": NONE,
    "attention_with_dropout": NONE,
    "multi_head_attention": NONE,
    "fresh_multi_head_attention": NONE,
    "encoder": "MXNet has no layer for a whole encoder; GluonNLP has one.",
}
