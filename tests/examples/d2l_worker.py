"""Run as a script with a folder: train the book's own code a little, and leave its weights and translations there.

The encoder, the loss, the data and the predictor are the d2l package's; the decoder, which no wheel of it holds, is the
book's as ``benchmarks/d2l_peer.py`` writes it.
"""

import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

EPOCHS, PAIRS = 12, 300


def main(folder):
    import transformer_mb as tmb
    from d2l_peer import STEPS, Peer, d2l
    from transformer_mb.data import Vocabulary, demo_pairs

    pairs = demo_pairs()[0][:PAIRS]
    peer = Peer(pairs)
    losses = [float(peer.epoch()) for _ in range(EPOCHS)]
    sources = [d2l.preprocess_nmt(source) for source, _ in pairs]
    translations = {source: peer.translate(source) for source in sources}

    vocabularies = [Vocabulary(vocab.idx_to_token, "d2l") for vocab in (peer.source_vocab, peer.target_vocab)]
    backend = tmb.get_backend("torch")
    model = backend.create_empty(tmb.presets.d2l(*map(len, vocabularies), compat_decode="d2l"))
    state = {name.replace("decoder.blks.", "decoder.blks.block"): value for name, value in peer.net.state_dict().items()}
    backend.set_weights(model, {name: value.numpy().astype(np.float64) for name, value in state.items()})
    tmb.save(model, folder / "checkpoint", vocabularies=vocabularies)
    content = {"losses": losses, "num_steps": STEPS, "translations": translations}
    (folder / "d2l.json").write_text(json.dumps(content), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
