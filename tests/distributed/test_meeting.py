"""How processes find one another: who comes again, who is a stranger, and what is no address end in words and in time."""

import socket
import threading
import time
from contextlib import closing

import pytest

from distributed.group import free_port
from transformer_mb.distributed import Place, meeting
from transformer_mb.errors import DistributedError

HELLO = meeting.HELLO


def place(rank, size=2, port=0, address="127.0.0.1", timeout=30.0):
    return Place(rank, size, address, port, timeout=timeout)


def reached(port):
    for _ in range(1000):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=30)
        except ConnectionRefusedError:
            time.sleep(0.01)
    raise AssertionError(port)


def background(function, *arguments):
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def service():
    """A port at which every connection is answered by what the function does with it."""
    opened = []

    def serve(answer):
        server = socket.create_server(("127.0.0.1", 0))
        opened.append(server)

        def run():
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                with closing(peer):
                    answer(peer)

        background(run)
        return server.getsockname()[1]

    yield serve
    for server in opened:
        server.close()


def test_a_rank_that_is_started_again_takes_the_place_of_the_one_that_ended():
    port, found = free_port(), {}
    first = background(lambda: found.update(meeting.accept(place(0, 3, port))))
    with reached(port) as gone:
        gone.sendall(HELLO.pack(meeting.MARK, 1, 3))
        time.sleep(0.1)
    others = [background(meeting.connect, place(rank, 3, port)) for rank in (1, 2)]
    for thread in (first, *others):
        thread.join(30)
    assert sorted(found) == [1, 2]


def test_two_living_processes_of_one_rank_are_refused():
    port, alive = free_port(), []

    def come():
        alive.append(reached(port))
        alive[-1].sendall(HELLO.pack(meeting.MARK, 1, 3))

    for _ in range(2):
        background(come)
    with pytest.raises(DistributedError, match="must have a rank of its own, but one came as rank 1 of 3"):
        meeting.accept(place(0, 3, port))
    assert len(alive) == 2


def test_strangers_that_are_slow_or_silent_keep_nobody_waiting():
    """Sixteen bytes make a greeting. Who drips them, each within the time of a single answer, is cut off on the way."""
    port, sent = free_port(), []

    def drip():
        with reached(port) as peer:
            for byte in HELLO.pack(meeting.MARK, 1, 2):
                try:
                    peer.sendall(bytes([byte]))
                except OSError:
                    return
                sent.append(byte)
                time.sleep(0.25)

    silent = [background(lambda: reached(port).recv(1)) for _ in range(5)]
    dripping = background(drip)
    with pytest.raises(DistributedError, match=r"must come to 127.0.0.1:\d+ within 1 seconds, but these ranks did not: 1\."):
        meeting.accept(place(0, 2, port, timeout=1.0))
    dripping.join(30)
    assert len(silent) == 5 and 0 < len(sent) < HELLO.size


def test_a_rank_comes_in_past_strangers():
    port, found = free_port(), {}
    first = background(lambda: found.update(meeting.accept(place(0, 2, port))))
    strangers = [reached(port) for _ in range(20)]
    assert meeting.connect(place(1, 2, port)).getpeername()[1] == port
    first.join(30)
    assert list(found) == [1] and strangers


@pytest.mark.parametrize("answer", [lambda peer: peer.sendall(b"220 mail.example.org ESMTP ready\r\n"), lambda peer: None])
def test_another_service_at_the_port_is_told_when_the_time_is_over(service, answer):
    with pytest.raises(
        DistributedError, match=r"within 1 seconds, as soon as all 2 processes are there, but: (another service|the conn|Conn)"
    ):
        meeting.connect(place(1, 2, service(answer), timeout=1.0))


def test_a_service_that_drips_its_answer_outlasts_no_timeout(service):
    sent = []

    def drip(peer):
        for byte in meeting.MARK:
            try:
                peer.sendall(bytes([byte]))
            except OSError:
                return
            sent.append(byte)
            time.sleep(0.4)

    with pytest.raises(DistributedError, match="within 1 seconds"):
        meeting.connect(place(1, 2, service(drip), timeout=1.0))
    assert len(sent) < len(meeting.MARK)


@pytest.mark.parametrize("address", ["nowhere.invalid", "::1", "a" * 80, "a..b"])
def test_an_address_that_is_none_is_refused_by_rank_0(monkeypatch, address):
    monkeypatch.setattr(meeting, "NAME_TIMEOUT", 0.2)
    with pytest.raises(DistributedError, match="MASTER_ADDR must be an IPv4 address, or a name that a name server knows, got "):
        meeting.accept(place(0, 2, free_port(), address))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_name_server_that_does_not_answer_is_waited_for_as_long_as_there_is_time(monkeypatch, rank):
    asleep = threading.Event()
    monkeypatch.setattr(meeting, "NAME_TIMEOUT", 0.2)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: asleep.wait(60) and [])
    given = place(rank, 2, free_port(), "slow.example.org", timeout=0.5)
    with pytest.raises(DistributedError, match="no name server has answered"):
        (meeting.connect if rank else meeting.accept)(given)
    asleep.set()


def test_rank_0_says_that_it_listens_at_all_addresses(capfd):
    """192.0.2.0/24 is for examples, and no machine's own."""
    with pytest.raises(DistributedError, match="these ranks did not: 1"):
        meeting.accept(place(0, 2, free_port(), "192.0.2.1", timeout=0.3))
    assert "Note: MASTER_ADDR, 192.0.2.1, is no address of rank 0's machine, which listens at all" in capfd.readouterr().err


def test_a_rank_that_ends_while_the_others_are_awaited_is_missing():
    port = free_port()
    background(lambda: reached(port).sendall(HELLO.pack(meeting.MARK, 1, 3)))
    with pytest.raises(DistributedError, match="these ranks did not: 1, 2"):
        meeting.accept(place(0, 3, port, timeout=1.0))


TORCHRUN = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
HUGE = "9" * 5000  # more digits than Python turns into a number


@pytest.mark.parametrize("name", ["RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT", "TRANSFORMER_MB_TIMEOUT"])
@pytest.mark.parametrize("text", ["99999999999999999999", HUGE, "-1", "1.5", " ", "٣", "0x10", "1e3", "nan"])
def test_a_variable_that_holds_no_usable_number_is_named(name, text):
    with pytest.raises(DistributedError, match=f"{name} must be a whole number from [01] to [0-9]+, got '") as caught:
        Place.from_environment({**TORCHRUN, name: text})
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(("name", "text"), [("MASTER_PORT", "99999"), ("MASTER_PORT", "0"), ("TRANSFORMER_MB_TIMEOUT", "0")])
def test_numbers_that_no_socket_takes_are_refused(name, text):
    with pytest.raises(DistributedError, match=f"{name} must be a whole number from 1 to"):
        Place.from_environment({**TORCHRUN, name: text})


def test_torchruns_own_port_leaves_room_for_the_next_one():
    given = {**TORCHRUN, "TORCHELASTIC_RUN_ID": "x", "MASTER_PORT": "65535"}
    with pytest.raises(DistributedError, match="MASTER_PORT must be a whole number from 1 to 65534, got '65535'"):
        Place.from_environment(given)


@pytest.mark.parametrize("fields", [{"timeout": 1e30}, {"timeout": float("nan")}, {"timeout": 0.0}, {"port": 70000}])
def test_a_place_made_in_python_is_held_to_the_same(fields):
    with pytest.raises(DistributedError, match=f"{next(iter(fields))} must be"):
        Place(**{"rank": 0, "size": 2, "address": "127.0.0.1", "port": 1, **fields})
