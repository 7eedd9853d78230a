"""The least that a step asks of a machine, whatever computes it: products in training, read weights in decoding."""

from __future__ import annotations


def training_flop(config, length):
    """FLOP per target token of a step's matrix products on pairs of ``length`` tokens: forward, and twice that backward."""
    width, inside = config.num_hiddens, config.ffn_num_hiddens
    encoder = 4 * width**2 + 2 * width * inside + 2 * length * width
    decoder = 8 * width**2 + 2 * width * inside + 4 * length * width
    layers = config.encoder_num_layers * encoder + config.decoder_num_layers * decoder
    return 3 * 2 * (layers + width * config.target_vocab_size)


def decoding_bytes(weights):
    """Bytes of the weights that a step of decoding reads: the decoder's but the embedding and what only the sources enter."""
    once = ("embedding", "attention2.W_k", "attention2.W_v")
    read = [name for name in weights if name.startswith("decoder.") and not any(part in name for part in once)]
    return sum(weights[name].nbytes for name in read)
