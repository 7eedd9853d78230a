"""A small model and a batch of one sentence, since compilers work on more for seconds; and what is asked of all frameworks."""

import numpy as np

from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.decoding.sampling import Truncation

ONE_LAYER = {"encoder_num_layers": 1, "decoder_num_layers": 1}
CONFIG = TransformerConfig(source_vocab_size=12, target_vocab_size=13, num_hiddens=8, ffn_num_hiddens=16, **ONE_LAYER)
BATCH = Batch(np.array([[4, 5, 6]]), np.array([3]), np.array([[2, 7]]), np.array([[7, 3]]), np.array([2]))


def tokens_of_late_sums(drawn, native):
    """The tokens that a backend's ``drawn`` gives of numbers that are 1, large logits, and cuts to two, two and one of them.

    Summed in parallel, a row's last sum may be above the one at its last kept token: a number just below 1 then acts as 1.
    """
    logits = 500.0 + np.float32([[3.0, 1.0, 2.0, 0.0], [0.0, 1.0, 2.0, 3.0], [9.0, 0.0, 0.0, 0.0]])
    cut = Truncation(temperature=1.0, top_k=2, top_p=0.99)
    return np.asarray(drawn(native(logits), native(np.ones(3, np.float32)), cut)).tolist()


LAST_KEPT = [2, 2, 0]
