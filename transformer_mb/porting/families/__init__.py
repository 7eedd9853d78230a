"""The model families: one module each, which ends in its row (see ``kinds.Family``)."""

from __future__ import annotations

from ..kinds import Family
from . import (
    bart,
    bert,
    blenderbot,
    blenderbot_small,
    canonical,
    d2l,
    distilbert,
    fsmt,
    gpt2,
    llama,
    m2m_100,
    marian,
    marian_npz,
    mbart,
    mistral,
    mt5,
    opt,
    paddle_transformer,
    pegasus,
    roberta,
    t5,
    torch_transformer,
    xlm_roberta,
)

OF_LIBRARY = (
    *(marian, bart, mbart, pegasus, blenderbot, blenderbot_small, m2m_100, fsmt, t5, mt5),
    *(gpt2, opt, llama, mistral, bert, roberta, xlm_roberta, distilbert),
)
MODULES = (canonical, *OF_LIBRARY, torch_transformer, paddle_transformer, marian_npz, d2l)
FAMILIES: dict[str, Family] = {module.ROW.name: module.ROW for module in MODULES}
# For those who look for it under the library's name, of which there are many.
OF_HUGGING_FACE = f"Hugging Face's folders (transformers) are {', '.join(module.ROW.name for module in OF_LIBRARY)}."
DEFAULT = d2l.ROW  # what a container holds where nothing says otherwise
