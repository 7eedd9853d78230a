"""No cheat is certified, and nothing outside is changed by one; the honest port beside each of them is certified."""

import json
import socketserver
import threading

import numpy as np
import pytest
from judge import cheats

from transformer_mb.errors import TransformerMBError
from transformer_mb.judge import confine
from transformer_mb.judge.judging import judge

pytestmark = pytest.mark.skipif(not confine.version(), reason="without Landlock nothing is certified at all")


def written(folder, candidate=cheats.HONEST, port=cheats.PORT):
    for name, text in (("ffn.py", cheats.REFERENCE), ("port.py", candidate), ("PORT.py", port)):
        (folder / name).write_text(text.replace("FOLDER", str(folder)))
    return folder / "PORT.py"


def certified(path):
    """Whether it is, and why not."""
    try:
        judgement = judge(path)
    except TransformerMBError as error:
        return False, str(error)
    return judgement.certified, "; ".join(judgement.reasons)


def test_the_honest_port_is_certified(tmp_path):
    assert certified(written(tmp_path)) == (True, "")


def test_there_are_at_least_forty():
    tables = (cheats.ANSWERS, cheats.LOOKING, cheats.TAMPERING, cheats.FILES)
    assert sum(map(len, tables)) >= 40 and len(set().union(*tables)) == sum(map(len, tables))


def assert_not_certified(path):
    before = {each: each.read_bytes() for each in path.parent.iterdir()}
    found, why = certified(path)
    assert not found and why
    assert {each: each.read_bytes() for each in path.parent.iterdir()} == before


@pytest.mark.long(but=8)
@pytest.mark.parametrize("cheat", cheats.ANSWERS)
def test_an_answer_without_computing_is_not_certified(cheat, tmp_path):
    assert_not_certified(written(tmp_path, cheats.ANSWERS[cheat]))


class Answering(socketserver.StreamRequestHandler):
    """The reference as a server: what a candidate that reached it would be told is right."""

    asked = 0

    def handle(self):
        type(self).asked += 1
        x, lens, weights = json.loads(self.rfile.readline())
        space = {}
        exec(cheats.HONEST, space)
        port = space["Port"](4, 6)
        vars(port).update({name: np.array(value) for name, value in weights.items()})
        self.wfile.write(json.dumps(port(np.array(x), np.array(lens)).tolist()).encode() + b"\n")


@pytest.fixture
def server():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.mark.long(but=4)
@pytest.mark.parametrize("cheat", cheats.LOOKING)
def test_a_candidate_that_looks_for_the_answer_is_not_certified(cheat, tmp_path, server):
    assert_not_certified(written(tmp_path, cheats.LOOKING[cheat].replace("PORT_NUMBER", str(server))))
    assert Answering.asked == 0


@pytest.mark.long(but=5)
@pytest.mark.parametrize("cheat", cheats.TAMPERING)
def test_a_candidate_that_tampers_is_not_certified(cheat, tmp_path):
    assert_not_certified(written(tmp_path, cheats.TAMPERING[cheat]))


@pytest.mark.long(but=5)
@pytest.mark.parametrize("cheat", cheats.FILES)
def test_a_port_file_that_asks_for_nothing_is_not_certified(cheat, tmp_path):
    before, after = cheats.FILES[cheat]
    assert before in cheats.PORT
    assert_not_certified(written(tmp_path, port=cheats.PORT.replace(before, after)))


def test_a_copy_of_the_reference_is_not_certified(tmp_path):
    assert_not_certified(written(tmp_path, cheats.REFERENCE, cheats.PORT.replace("port.py:Port", "port.py:FFN")))


@pytest.mark.parametrize(("change", "why"), [("Port(4, 6)", "4, 7"), ("weights", "unpaired")])
def test_what_cannot_be_compared_is_refused_in_words(change, why, tmp_path):
    port = (
        cheats.PORT.replace('port.py:Port", 4, 6', 'port.py:Port", 4, 7')
        if why == "4, 7"
        else cheats.PORT.replace('"b1": "bias", ', "")
    )
    found, said = certified(written(tmp_path, port=port))
    assert not found and "bias" in said
