"""Places to which one process at a time writes, and files that cannot be written: of every command that writes."""

import errno
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from keras_adaptive_rnn import files
from keras_adaptive_rnn.files import LOCK, Busy, Unwritten, alone_in, alone_on, replaced
from tests.backends import in_turns

pytestmark = in_turns

FILE = pathlib.Path(files.__file__)
HOLD = f"""
import importlib.util, sys, time
spec = importlib.util.spec_from_file_location("files", {str(FILE)!r})
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)
with files.alone_in(sys.argv[1], "holding on"):
    print("held", flush=True)
    time.sleep(60)
"""


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != LOCK}


def test_a_place_is_one_process_s_until_it_ends(tmp_path):
    """Even if it is killed: its lock goes with it, although the file stays."""
    folder = tmp_path / "out"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        said = rf"out is in use: process {other.pid} on {re.escape(socket.gethostname())} has been holding on since 20"
        with pytest.raises(Busy, match=said) as stop, alone_in(folder, "waiting"):
            pass
        assert "\n" not in str(stop.value)
        assert sys.executable in str(stop.value)
        other.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    assert (folder / LOCK).exists()
    with alone_in(folder, "going on"):
        pass
    # Nothing was in it.
    assert not folder.exists()


def test_threads_take_turns(tmp_path):
    """Also where the one before has just removed the lock, or the folder."""
    counts = {"now": 0, "most": 0, "all": 0}

    def count():
        done = 0
        while done < 25:
            try:
                with alone_in(tmp_path / "out", "counting"):
                    counts["now"] += 1
                    counts["most"] = max(counts["most"], counts["now"])
                    time.sleep(1e-4)
                    counts["now"] -= 1
                    done, counts["all"] = done + 1, counts["all"] + 1
            except Busy:
                pass

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == {"now": 0, "most": 1, "all": 100}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_fork_holds_no_lock(tmp_path):
    """As the workers of an executor, which may outlive a process that is killed."""
    forks = HOLD.replace('print("held", flush=True)', 'import os\n    os.write(1, b"%d\\n" % os.fork())')
    with subprocess.Popen([sys.executable, "-c", forks, str(tmp_path)], stdout=subprocess.PIPE, text=True) as parent:
        child = max(int(parent.stdout.readline()), int(parent.stdout.readline()))
        parent.kill()
        parent.wait()
        try:
            with alone_in(tmp_path, "going on"):
                os.kill(child, 0)
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.skipif(sys.platform == "win32", reason="it replaces fcntl")
def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def flock(*args):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(files.fcntl, "flock", flock)
    with pytest.warns(UserWarning, match="out is on a file system without locks"), alone_in(tmp_path / "out", "a"):
        (tmp_path / "out" / "kept").touch()
    assert os.listdir(tmp_path / "out") == ["kept"]


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links are followed")
def test_a_lock_is_no_link(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / LOCK).symlink_to("mine.txt")
    with pytest.raises(Unwritten, match=rf"{LOCK} cannot be written"), alone_in(tmp_path, "writing"):
        pass
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    path = tmp_path / "best.json"
    path.write_text("old")

    def write_half():
        with replaced(path) as new:
            new.write_text("half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(Unwritten) as stop:
        write_half()
    assert str(stop.value) == f"{path} cannot be written: No space left on device"
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["best.json"])
    # What is wrong with a file that is read meanwhile is not blamed on the one that is written.
    with pytest.raises(FileNotFoundError, match="nowhere"), replaced(path):
        (tmp_path / "nowhere").read_text()


# The commands.


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a text."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    pathlib.Path("book.txt").write_text("the cat sat on the mat. " * 60)
    return tmp_path / "here"


def main(arguments):
    pytest.importorskip("keras_hub", minversion="0.32")
    from keras_adaptive_rnn.hub.__main__ import main

    main(arguments)


TRAIN = "train book.txt --preset lm --minutes 0.001 --units 4 --layers 1 --batch 2 --steps 8 --round 3 --min-count 1"
WRITE = {
    "train": (TRAIN, alone_in, "lm.training"),
    "tokens": ("tokens book.txt book.npy --min-count 1", alone_on, "book.npy"),
}


@pytest.mark.parametrize("name", WRITE)
def test_a_second_command_changes_nothing(name, here, capsys):
    """Whatever the first one is: each of them holds its place in the same way."""
    command, alone, place = WRITE[name]
    said = rf"{place} is in use: process {os.getpid()} on .* has been testing since .* Wait for it to end"
    with alone(place, "testing"):
        before = contents(here)
        with pytest.raises(SystemExit, match=said) as stop:
            main(command.split())
        assert stop.value.code.startswith("error: ")
        assert contents(here) == before


# The log of a training, which is left open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("room", [300, 6000])
@pytest.mark.parametrize("name", WRITE)
def test_no_room(name, room, here, capsys):
    """Files get no larger than so many bytes. Later, the same command goes on. What is printed goes to no file."""
    command, _, _ = WRITE[name]
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        main(command.split())
        message = None
    except SystemExit as stop:
        message = stop.code
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    if message is not None:
        assert re.fullmatch(r"error: (lm|book)\S* cannot be written: File too large\.( What is done .*)?", message)
        assert "\n" not in message
        main(command.split())
    assert message is not None or room > 300
    assert not [path for path in here.rglob(".*") if path.is_file()]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_what_is_printed_cannot_be_written():
    """Python itself would say so in several lines, when it ends."""
    code = "from keras_adaptive_rnn.files import ending\nwith ending():\n    print('x' * 9)"
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True, cwd=FILE.parents[1]
        )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1:] == ["error: the output cannot be written: No space left on device."]
    assert "Exception ignored" not in ended.stderr
