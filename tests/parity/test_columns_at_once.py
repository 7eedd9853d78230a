"""Columns compute side by side, and share what the reference made: no draw of theirs may hang on who asked first."""

import threading
from concurrent.futures import ThreadPoolExecutor

from transformer_mb.parity.computing import reference
from transformer_mb.parity.rows.models import model_experiments
from transformer_mb.parity.rows.token_models import Search, drawn
from transformer_mb.parity.rows.tokens import CASES


def test_models_are_drawn_when_the_reference_is_free():
    """It keeps models, and two that compute at once would set the weights of one."""
    ended = threading.Event()

    def draw():
        drawn(Search(CASES["d2l"], None), 12345, "float32")
        ended.set()

    with reference._LOCK:
        thread = threading.Thread(target=draw)
        thread.start()
        assert not ended.wait(2.0)
    thread.join(120)
    assert ended.is_set()


def test_of_each_perturbed_copy_there_is_one_however_many_ask():
    one, alone = (next(each for each in model_experiments("float32", 3) if each.case == "d2l") for _ in range(2))
    with ThreadPoolExecutor(8) as threads:
        several = list(threads.map(lambda _: one.baseline("model forward"), range(8)))
    assert len(one._draws.made) == len(alone._draws.with_copies(4)) == 5
    assert all(each == alone.baseline("model forward") for each in several)
