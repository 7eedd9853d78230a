"""A model with one layer on each side, and a batch of one sentence: compilers work on more for seconds, the matrix has it."""

import numpy as np

from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig

ONE_LAYER = {"encoder_num_layers": 1, "decoder_num_layers": 1}
CONFIG = TransformerConfig(source_vocab_size=12, target_vocab_size=13, num_hiddens=8, ffn_num_hiddens=16, **ONE_LAYER)
BATCH = Batch(np.array([[4, 5, 6]]), np.array([3]), np.array([[2, 7]]), np.array([[7, 3]]), np.array([2]))
