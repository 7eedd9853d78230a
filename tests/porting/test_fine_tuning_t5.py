"""A T5 and a ByT5 are trained on from their folders, in text, with the loss and then the tokens of ``transformers``."""

import pytest

import transformer_mb as tmb
from elsewhere import elsewhere
from porting.family_models import ROWS
from porting.on_backend import sentences
from porting.small_model import spoil
from porting.test_fine_tuning import PAIRS, SOURCES, TRAINING
from porting.test_strangers_run import TEXTS
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.porting.families import canonical
from transformer_mb.porting.files.sources import read_source

GAPS = [(f"{source} <extra_id_0>", f"<extra_id_0> {target}") for source, target in PAIRS]


@pytest.fixture(scope="module", params=["t5", pytest.param("byt5", marks=pytest.mark.long)])
def trained(request, tmp_path_factory):
    """The library's folder, its loss, what a step of training made of its port, and that as the library's folder."""
    place = tmp_path_factory.mktemp("trained")
    elsewhere("porting.strangers_folder:made", folder=place, lines=TEXTS, name=request.param)
    folder = place / request.param
    spoil(folder / "config.json", dropout_rate=0.0)
    arrays, _ = elsewhere("porting.library_training:loss_of", folder=folder, pairs=GAPS)
    for name in ("port", "back"):
        (place / name).mkdir()
    canonical.write(read_source(folder, None, {}).model, place / "port")
    result = tmb.train(GAPS, place / "on", init_from=place / "port", max_steps=1, **TRAINING)
    ROWS["t5"].write(canonical.read(place / "on", {}), place / "back")
    return folder, float(arrays["loss"]), result.state.loss, place


def test_the_loss_is_the_librarys(trained):
    """Texts have sentinels on both sides."""
    _, expected, got, _ = trained
    assert got == pytest.approx(expected, rel=1e-5)


def test_the_tokenizer_comes_back_and_generate_gives_the_same_there_as_here(trained):
    folder, *_, place = trained
    for path in folder.glob("*token*"):
        assert (place / "back" / path.name).read_bytes() == path.read_bytes()
    arrays, _ = elsewhere("porting.library_training:generated", folder=place, names=["back"], lines=SOURCES)
    checkpoint, backend = read_checkpoint(place / "on"), tmb.get_backend("numpy")
    model, words = tmb.load(place / "on", backend=backend), checkpoint.source_vocabulary
    got = [backend.generate(model, [words.framed(words.encode(line))], None, checkpoint.generation)[0] for line in SOURCES]
    assert got == sentences(arrays["back"]) and len({tuple(row) for row in got}) > len(SOURCES) / 3
