"""The model of most of these tests: one layer on each side, since compilers take seconds for each; the matrix has more."""

from transformer_mb.batch import Batch
from transformer_mb.parity.rows.model_cases import BATCH, CONFIGS

ONE_LAYER = CONFIGS["d2l"].replace(encoder_num_layers=1, decoder_num_layers=1)
THE_BATCH = Batch(**BATCH)
