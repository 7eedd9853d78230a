"""The model families: one module each, which ends in its row (see ``kinds.Family``)."""

from __future__ import annotations

from ..kinds import Family
from . import bert, canonical, d2l, marian, paddle_transformer, torch_transformer

MODULES = (canonical, marian, bert, torch_transformer, paddle_transformer, d2l)
FAMILIES: dict[str, Family] = {module.ROW.name: module.ROW for module in MODULES}
# For those who look for it under the library's name, of which there are many.
OF_HUGGING_FACE = "Hugging Face's folders (transformers) are marian (encoder and decoder) and bert (encoder)."
DEFAULT = d2l.ROW  # what a container holds where nothing says otherwise
