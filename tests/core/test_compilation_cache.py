"""Where compiled programs are kept, and where none are."""

import os
import stat
from pathlib import Path

import pytest

from transformer_mb.columns.environment import SETTINGS
from transformer_mb.machine.compilation_cache import VARIABLE, compilation_cache


@pytest.fixture
def caches(tmp_path, monkeypatch):
    """A user's cache folder, without a word about the programs."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches"


def test_it_is_in_the_users_cache_folder_and_for_nobody_else(caches):
    before = os.umask(0)
    folder = compilation_cache("jax")
    os.umask(before)
    assert folder.parent == caches / "transformer_mb" / "jax" and compilation_cache("jax") == folder
    made = [caches / "transformer_mb", folder.parent, folder]
    assert [stat.S_IMODE(place.stat().st_mode) for place in made] == [0o700] * 3


def test_without_xdg_it_is_in_the_home(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for relative in ("", "caches"):
        monkeypatch.setenv("XDG_CACHE_HOME", relative)
        assert compilation_cache("jax").is_relative_to(tmp_path / ".cache" / "transformer_mb")


def test_the_variable_names_another_folder_or_none(caches, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "programs"))
    assert compilation_cache("jax").parent == tmp_path / "programs" / "jax"
    monkeypatch.setenv(VARIABLE, "off")
    assert compilation_cache("jax") is None and not caches.exists()


def test_a_folder_that_cannot_be_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    assert compilation_cache("jax") is None
    monkeypatch.setenv(VARIABLE, "/proc/nowhere/programs")
    assert compilation_cache("jax") is None


@pytest.mark.parametrize("which", ["transformer_mb", "transformer_mb/jax", "PROCESSOR"])
@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_programs_that_others_may_have_written_are_not_loaded(caches, which, mode):
    made = compilation_cache("jax")
    place = made if which == "PROCESSOR" else caches / which
    place.chmod(mode)
    assert compilation_cache("jax") is None
    place.chmod(0o700)
    assert compilation_cache("jax") == made


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_folder_of_another_user_is_not_taken(caches):
    os.chown(compilation_cache("jax"), 65534, -1)
    assert compilation_cache("jax") is None


def test_another_processor_has_its_own(caches, monkeypatch):
    here = compilation_cache("jax")
    monkeypatch.setattr(Path, "read_text", lambda path: "flags\t\t: fpu\nprocessor: 1\n")
    elsewhere = compilation_cache("jax")
    assert elsewhere != here and elsewhere.parent == here.parent


def test_what_is_compared_is_compiled_anew():
    assert SETTINGS[VARIABLE] == "off" == os.environ[VARIABLE]
