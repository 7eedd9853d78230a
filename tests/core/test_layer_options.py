"""The arguments of a configuration's blocks, and what a layer says of options that it lacks."""

import pytest

from transformer_mb.errors import ConfigError
from transformer_mb.layer_options import BlockOptions, Chosen, decoder_block_arguments, encoder_block_arguments
from transformer_mb.parity.rows.model_cases import CONFIGS
from transformer_mb.registry import get_backend

BACKEND = get_backend("numpy")


@pytest.mark.parametrize("name", CONFIGS)
def test_a_block_by_itself_is_that_of_the_model(name):
    config = CONFIGS[name]
    model = BACKEND.create_empty(config)
    for layer, arguments, within in (
        ("EncoderBlock", encoder_block_arguments(config), next(iter(model.encoder.blks))),
        ("DecoderBlock", decoder_block_arguments(config, 0), next(iter(model.decoder.blks))),
    ):
        block = BACKEND.layer(layer, **arguments)
        assert BACKEND.parameter_shapes(block) == BACKEND.parameter_shapes(within)
        assert block.addnorm1.pre == within.addnorm1.pre and block.addnorm1.ln.kind == within.addnorm1.ln.kind


def test_defaults_and_what_attention_dropout_falls_back_to():
    chosen = Chosen(BlockOptions, {"norm_eps": 0.5}, dropout=0.3)
    assert (chosen.norm_eps, chosen.norm_kind, chosen.attention_dropout) == (0.5, "layer_norm", 0.3)
    with pytest.raises(ConfigError, match=r"Unknown option\(s\): final_norm\."):
        Chosen(BlockOptions, {"final_norm": True}, dropout=0.0)
