"""The whole site, built once without running its notebooks, and a browser to look at it."""

import functools
import http.server
import os
import subprocess
import sys
import threading

import pytest

from site_pages import DOCS


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The folder of the finished pages, and what Sphinx said."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-D", "nb_execution_mode=off", "-d", str(folder / "read")]
    environment = {**os.environ, "PYTHONPATH": str(DOCS.parent)}
    done = subprocess.run([*command, str(DOCS), str(folder / "out")], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "out", done.stderr


@pytest.fixture(scope="session")
def address(built):
    """The site as a server has it, without a slash at the end."""

    class Silent(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    handler = functools.partial(Silent, directory=str(built[0]))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
