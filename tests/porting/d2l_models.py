"""D2L's own models of d2l 0.17.6 in four frameworks, built by the runner's ``d2l_book``: in training mode with dropout 0, where
the decoder is causal.
"""

from pathlib import Path

import numpy as np

from porting.small_model import LENS, SOURCE, TARGET
from transformer_mb.porting.proof.reference_runs.d2l_book import Sizes, make

SOURCE_VOCAB, TARGET_VOCAB, D, F, HEADS, LAYERS = 11, 13, 8, 12, 2, 2
FILES = {"torch": "model.pt", "mxnet": "model.params", "paddle": "model.pdparams", "tensorflow": "model.weights.h5"}
CHECKPOINT = "checkpoint_of_model"  # TensorFlow's other way
BOOK = Sizes(SOURCE_VOCAB, TARGET_VOCAB, D, F, HEADS, HEADS, LAYERS, LAYERS)
BIASES = {"encoder_bias": True, "decoder_bias": True}
# By framework and name.
MODELS = {
    "torch": {
        "book": BOOK,
        "biases": Sizes(11, 13, 8, 12, 2, 2, 2, 2, **BIASES),
        "encoder bias": Sizes(11, 13, 8, 12, 2, 2, 2, 2, encoder_bias=True),
        "1 and 4 layers": Sizes(11, 13, 8, 12, 2, 2, 1, 4),
        "2 and 6 heads": Sizes(11, 13, 12, 20, 2, 6, 2, 2),
        "equal vocabularies": Sizes(13, 13, 8, 12, 4, 4, 2, 2),
        "all square": Sizes(14, 14, 14, 14, 2, 2, 2, 2),
        "12 blocks": Sizes(11, 13, 16, 24, 4, 4, 12, 12),
    },
    **{
        framework: {
            "biases": Sizes(11, 13, 8, 12, 2, 2, 2, 2, **BIASES),
            "4 and 1 heads": Sizes(11, 13, 8, 12, 4, 1, 2, 2),
            "7 and 2 heads": Sizes(11, 13, 14, 9, 7, 2, 1, 2),
            "1 and 3 layers": Sizes(11, 13, 8, 12, 2, 2, 1, 3),
            "2 and 11 layers": Sizes(11, 13, 8, 12, 2, 2, 2, 11),
        }
        for framework in ("mxnet", "paddle", "tensorflow")
    },
}


def logits(book):
    return book.logits(SOURCE, LENS, TARGET)


def randomise(framework, book):
    """Weights far from what the classes start with, so that each of them matters."""
    if framework == "torch":
        book.torch.manual_seed(0)
        for module in book.net.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()
        for parameter in book.net.parameters():
            parameter.data += 0.2 * book.torch.randn_like(parameter)
    elif framework == "mxnet":
        book.mxnet.random.seed(0)
        book.net.initialize(book.mxnet.init.Normal(0.2))
        logits(book)  # gives the parameters their shapes
        for parameter in book.net.collect_params().values():
            data = parameter.data()
            data[:] = data + book.mxnet.np.random.normal(0.0, 0.2, data.shape)
    elif framework == "paddle":
        book.paddle.seed(0)
        for parameter in book.net.parameters():
            parameter.set_value(parameter + 0.2 * book.paddle.randn(parameter.shape))
    else:
        book.tensorflow.random.set_seed(0)
        logits(book)  # makes the variables
        for variable in book.net.trainable_variables:
            variable.assign_add(0.2 * book.tensorflow.random.normal(variable.shape))


def save(framework, book, folder):
    file = folder / FILES[framework]
    if framework == "torch":
        book.torch.save(book.net.state_dict(), file)
    elif framework == "mxnet":
        book.net.save_parameters(str(file))
    elif framework == "paddle":
        book.paddle.save(book.net.state_dict(), str(file))
    else:
        book.net.save_weights(file)
        book.tensorflow.train.Checkpoint(model=book.net).write(str(folder / CHECKPOINT))


def load(framework, book, file):
    if framework == "torch":
        book.net.load_state_dict(book.torch.load(file, weights_only=True))
    elif framework == "mxnet":
        book.net.load_parameters(str(file))
    elif framework == "paddle":
        missing, unexpected = book.net.set_state_dict(book.paddle.load(str(file)))
        assert not missing and not unexpected, (missing, unexpected)
    else:
        logits(book)  # makes the variables
        book.net.load_weights(file)


def make_models(framework, folder, names=(None,)):
    """A model with random weights and its logits, in FOLDER/NAME for each name of ``MODELS``, or in FOLDER itself."""
    for name in names:
        place = Path(folder, name or "")
        place.mkdir(exist_ok=True)
        book = make(framework, MODELS[framework][name] if name else BOOK)
        randomise(framework, book)
        save(framework, book, place)
        np.savez(place / "logits.npz", logits=logits(book))


def logits_of(framework, file):
    """Of a fresh model that has loaded the file as its users do."""
    book = make(framework, BOOK)
    load(framework, book, Path(file))
    return {"logits": logits(book)}, {}
