"""A program that begins another one in a process which can read and write only what it is told, by Landlock and seccomp.

    python -I -S confine.py RULES.json PROGRAM ARGUMENT...

It needs no privilege, and nothing that the other program starts is free of it. It can then signal no process outside, look into
none, have no socket and no memory shared by name, and write into no file that the rules do not name. The standard library alone
is used, for it runs before anything of ours could be imported.
"""

from __future__ import annotations

import ctypes
import json
import os
import stat
import sys

# uapi/linux/landlock.h
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION, PATH_BENEATH = 1, 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
READ = EXECUTE | READ_FILE | READ_DIR
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
# By version of Landlock: the number of rights to files; then bits of TCP, and of what is scoped: abstract sockets, signals.
RIGHTS = {1: 13, 2: 14, 3: 15}
BIND_AND_CONNECT, SIGNALS_AND_SOCKETS = 0b11, 0b11
NET_SINCE, SCOPE_SINCE = 4, 6
NO_NEW_PRIVILEGES, SET_SECCOMP, BY_FILTER = 38, 22, 2  # linux/prctl.h, linux/seccomp.h
CAPABILITIES_OF_64_BITS = 0x20080522  # linux/capability.h
# By machine: its name in linux/audit.h, and its numbers of socket, shmget, msgget, semget, mq_open and io_uring_setup, by which
# one process could reach another that Landlock does not know of.
REFUSED = {
    "x86_64": (0xC000003E, (41, 29, 68, 64, 240, 425)),
    "aarch64": (0xC00000B7, (198, 194, 186, 190, 180, 425)),
}
# linux/bpf_common.h and linux/seccomp.h: the words of a filter.
LOAD, EQUAL, AT_LEAST, ANSWER = 0x20, 0x15, 0x35, 0x06
NUMBER_AT, MACHINE_AT, OTHER_NUMBERS = 0, 4, 0x40000000  # those of x32, which are calls of their own
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | 13  # as not permitted


class Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("true", ctypes.c_uint8), ("false", ctypes.c_uint8), ("value", ctypes.c_uint32))


class Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(Instruction)))


class Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """Return the kernel's version of Landlock; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(_libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION)), 0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def confine(read: list[str], listed: list[str], write: list[str]) -> None:
    """Confine this thread, and all that it starts, from now on.

    Args:
        read: folders and files that may be read and executed. listed: folders of which names alone may be read.
        write: folders in which everything may be done. A path that is not there is left out.
    Raises: OSError where the kernel does not do it.
    """
    libc, abi = _libc(), version()
    if not abi:
        raise OSError(0, "this system has no Landlock")
    every = (1 << RIGHTS.get(abi, 15)) - 1
    net = BIND_AND_CONNECT if abi >= NET_SINCE else 0
    scoped = SIGNALS_AND_SOCKETS if abi >= SCOPE_SINCE else 0
    rules, size = Ruleset(every, net, scoped), 8 * (1 + (abi >= NET_SINCE) + (abi >= SCOPE_SINCE))
    ruleset = _checked(libc.syscall(CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0)), "ruleset")
    for paths, rights in ((read, READ), (listed, READ_DIR), (write, every)):
        for path in paths:
            _allow(libc, ruleset, path, rights & every)
    _checked(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")
    _checked(libc.syscall(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)), "restrict")
    os.close(ruleset)
    _refuse_calls(libc)
    # What root may do beside all that, such as reading another process's maps. Without new privileges no program gets it back.
    nothing = (ctypes.c_uint32 * 6)()
    _checked(libc.capset((ctypes.c_uint32 * 2)(CAPABILITIES_OF_64_BITS, 0), nothing), "capset")


def _refuse_calls(libc: ctypes.CDLL) -> None:
    """Refuse the calls of REFUSED; on a machine of which their numbers are not known none are."""
    if os.uname().machine not in REFUSED:
        return
    machine, numbers = REFUSED[os.uname().machine]
    last = len(numbers) + 1  # instructions from the first look at the number to the one that allows
    rows = [
        (LOAD, 0, 0, MACHINE_AT),
        (EQUAL, 0, last + 2, machine),
        (LOAD, 0, 0, NUMBER_AT),
        (AT_LEAST, last, 0, OTHER_NUMBERS),
    ]
    rows += [(EQUAL, last - 1 - place, 0, number) for place, number in enumerate(numbers)]
    rows += [(ANSWER, 0, 0, ALLOW), (ANSWER, 0, 0, REFUSE)]
    program = (Instruction * len(rows))(*(Instruction(*row) for row in rows))
    given = Filter(len(rows), program)
    _checked(libc.prctl(SET_SECCOMP, BY_FILTER, ctypes.byref(given), 0, 0), "seccomp")


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= OF_A_FILE
        rule = PathBeneath(rights, descriptor)
        arguments = (ctypes.c_int(ruleset), ctypes.c_int(PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0))
        _checked(libc.syscall(ADD_RULE, *arguments), path)
    finally:
        os.close(descriptor)


def main(rules: str, *command: str) -> None:
    with open(rules, encoding="utf-8") as file:
        content = json.load(file)
    os.environ.update(content["environment"])
    os.chdir(content["folder"])
    confine(content["read"], content["listed"], content["write"])
    os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
