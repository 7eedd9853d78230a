"""A model of one layer on each side, for tests that need any checkpoint at all."""

from pathlib import Path

import transformer_mb as tmb
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.porting.model import PortedModel

SIZES = {"num_hiddens": 8, "ffn_num_hiddens": 12, "encoder_num_heads": 4, "decoder_num_heads": 4, "max_len": 20}
CONFIG = tmb.presets.d2l(11, 13, encoder_num_layers=1, decoder_num_layers=1, **SIZES)


def weights_of(folder: Path) -> PortedModel:
    found = read_checkpoint(folder)
    return PortedModel(config=found.config, weights=found.weights)
