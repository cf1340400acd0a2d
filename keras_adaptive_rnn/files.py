"""Whole files, whenever a process ends; places to which one process at a time writes; commands that end in one line.

The packages that keep what they do in folders, such as `keras_rnn_compare`, stand on these.
"""

import contextlib
import datetime
import errno
import os
import pathlib
import shlex
import socket
import sys
import time
import warnings

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = [
    "Busy",
    "Unwritten",
    "alone_in",
    "alone_on",
    "contents",
    "ending",
    "is_litter",
    "replaced",
    "save_whole",
    "write_whole",
    "writing",
]

# In a folder to which a process writes, the file that is locked; beside a file, `.NAME.lock`.
LOCK = ".lock"
# What a file is called until it is whole.
NEW = ".new."
# Locks that another process holds, and file systems without locks, such as some network shares.
TAKEN = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
LOCKLESS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
# Errors of the system that only writing has.
OF_WRITING = (errno.ENOSPC, errno.EFBIG, errno.EPIPE, getattr(errno, "EDQUOT", errno.ENOSPC))
# How often a lock is tried whose file has just been removed, and the tenths of a second that its holder has to say who
# it is.
TRIES, PATIENCE = 100, 10


class Unwritten(OSError):
    """A file, or a folder, that cannot be written: `filename` is its path, and `strerror` the reason."""

    def __str__(self):
        return f"{self.filename} cannot be written: {self.strerror}"


class Busy(RuntimeError):
    """A place to which another process, or another thread of this one, writes."""


@contextlib.contextmanager
def writing(path):
    """Names a file in errors of the system, which often does not: that a disk is full is found out by `write`.

    Args:
        path: Path of the file, or of the folder.

    Yields: `None`.

    Raises:
        Unwritten: It cannot be written.
    """
    try:
        yield
    except Unwritten:
        raise
    except OSError as error:
        # Others are of files that are read meanwhile.
        if (
            error.filename is None
            or is_litter(pathlib.Path(error.filename))
            or str(error.filename).startswith(str(path))
        ):
            raise Unwritten(error.errno, error.strerror or str(error), str(path)) from error
        raise


@contextlib.contextmanager
def replaced(path):
    """Gives a path to write to, then puts the file in place as a whole: readers see the old one or the new one.

    Args:
        path: Path of the file.

    Yields: The path to write to.

    Raises:
        Unwritten: The file cannot be written.
    """
    path = pathlib.Path(path)
    # The suffixes stay, because Keras insists on them. What a kill leaves behind, the next call overwrites.
    new = path.with_name(f"{NEW}{path.name}")
    with writing(path):
        try:
            yield new
            os.replace(new, path)
        except BaseException:
            with contextlib.suppress(OSError):
                new.unlink()
            raise


def write_whole(path, text):
    """Writes a text file: whoever reads it, even after a kill, sees the old one or the new one.

    Args:
        path: Path of the file.
        text: The text.
    """
    with replaced(path) as new:
        new.write_text(text, encoding="utf-8")


def contents(save, name):
    """Returns the bytes of a file, without a disk: where one is full, the library of HDF5 may end the process.

    Args:
        save: Function of a path that writes the file, such as `model.save_weights`.
        name: Name of the file, whose suffix Keras checks.
    """
    # Imported here: commands catch the errors of this module before Keras is imported.
    from keras_adaptive_rnn._keras import FileInMemory

    file = FileInMemory(name)
    save(file)
    return file.getvalue()


def save_whole(save, path):
    """Writes a file as a whole or not at all.

    Args:
        save: Function of a path that writes the file, such as `model.save_weights`.
        path: Path of the file.
    """
    path = pathlib.Path(path)
    data = contents(save, path.name)
    with replaced(path) as new:
        new.write_bytes(data)


@contextlib.contextmanager
def ending(output=None):
    """Ends a command with one line for the user, instead of a traceback, where it fails or is stopped.

    Args:
        output: Path of the folder that the command resumes from, which has a `settings.json` once there is something to
            resume. Defaults to `None`: the command starts anew.

    Raises:
        SystemExit: The command fails (exit code 1), or is stopped with Ctrl-C (130).

    Example:

    >>> with keras_adaptive_rnn.files.ending():
    ...     print("done")
    done
    """

    def resumable():
        # A folder that the command could not begin to fill is no place to go on from.
        is_there = output is not None and os.path.exists(os.path.join(output, "settings.json"))
        return f" What is done is in {output}; the same command goes on from there." if is_there else ""

    try:
        yield
        sys.stdout.flush()
    except Unwritten as error:
        sys.exit(f"error: {error}.{resumable()}")
    except OSError as error:
        if error.filename is not None or error.errno not in OF_WRITING:
            sys.exit(f"error: {error}")
        # Files have names: it was printing. Python would say so again when it ends.
        with contextlib.suppress(OSError), open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        sys.exit(f"error: the output cannot be written: {error.strerror}.{resumable()}")
    except (ValueError, TypeError, ImportError, Busy) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        print(f"\nStopped.{resumable()}", file=sys.stderr)
        sys.exit(130)


def is_litter(path):
    """Returns whether a file in a folder is only what a process has left there that was killed, or is at work.

    Args:
        path: `pathlib.Path` of the file.
    """
    return path.name == LOCK or path.name.startswith(NEW)


def alone_in(folder, doing):
    """Returns a context that lets one process, and one of its threads, write to a folder at a time.

    The folder is made if there is none, and goes if it is empty in the end. A lock of the operating system, which goes
    with its process, keeps others out, who raise `Busy`. Where the file system has no locks, a warning says so.

    Args:
        folder: Path of the folder.
        doing: What others are told that this process has been doing, such as `"comparing cells"`.
    """
    folder = pathlib.Path(folder)
    return _alone(folder, folder / LOCK, doing, folder)


def alone_on(file, doing):
    """Returns a context that lets one process at a time write a file, as `alone_in` does for a folder.

    Args:
        file: Path of the file.
        doing: As in `keras_adaptive_rnn.files.alone_in`.
    """
    file = pathlib.Path(file)
    return _alone(file, file.with_name(f".{file.name}{LOCK}"), doing)


@contextlib.contextmanager
def _alone(place, lock, doing, folder=None):
    file, pid = _locked(place, lock, folder), os.getpid()
    _held.add(file)
    # Without room, the lock holds, and others are told less.
    with contextlib.suppress(OSError):
        os.ftruncate(file, 0)
        os.write(file, _says(doing).encode())
    try:
        yield
    finally:
        # In a fork, the parent has the lock.
        if os.getpid() == pid:
            _held.discard(file)
            _release(file, lock)
            if folder is not None:
                with contextlib.suppress(OSError):
                    folder.rmdir()


def _says(doing):
    since = datetime.datetime.now().astimezone().isoformat(" ", "seconds")
    command = " ".join(shlex.join(sys.orig_argv).split())
    command = command if len(command) <= 200 else f"{command[:200]}..."
    return f"process {os.getpid()} on {socket.gethostname()} has been {doing} since {since} ({command})"


def _locked(place, lock, folder):
    """Returns the descriptor of a lock file that this process has locked, or raises `Busy`."""
    for left in reversed(range(TRIES)):
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            # A link would be to a file of which this is not to be the end.
            file = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except OSError as error:
            # Whoever was there may just have removed the folder, and others make it again.
            if left and folder is not None and isinstance(error, (FileNotFoundError, FileExistsError)):
                continue
            raise Unwritten(error.errno, error.strerror, str(error.filename)) from error
        try:
            _lock(file)
        except OSError as error:
            if error.errno in TAKEN:
                said = _read(file)
                os.close(file)
                raise Busy(f"{place} is in use: {said}. Wait for it to end, or end it, and try again") from None
            if error.errno not in LOCKLESS:
                os.close(file)
                raise Unwritten(error.errno, error.strerror, str(lock)) from error
            warnings.warn(
                f"{place} is on a file system without locks ({error.strerror}): see to it that no other process writes "
                "there",
                stacklevel=4,
            )
            return file
        if _is_at(lock, file):
            return file
        # Whoever had the lock has removed its file meanwhile.
        os.close(file)
    raise Unwritten(errno.ENOLCK, os.strerror(errno.ENOLCK), str(lock))


def _read(file):
    """Returns what the holder of a lock says, which it does just after it has got it."""
    said = b""
    for _ in range(PATIENCE):
        os.lseek(file, 0, os.SEEK_SET)
        if said := os.read(file, 4096):
            break
        time.sleep(0.1)
    return said.decode(errors="replace") or "another process, which does not say who it is, writes to it"


def _release(file, lock):
    # Before it is free, or it might be the file of the next one. Windows removes no file that is open.
    if _is_at(lock, file):
        with contextlib.suppress(OSError):
            lock.unlink()
    os.close(file)
    if sys.platform == "win32":
        with contextlib.suppress(OSError):
            lock.unlink()


def _is_at(lock, file):
    """Returns whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.stat(lock), os.fstat(file))
    except OSError:
        return False


def _lock(file):
    """Locks an open file, for which a second one of the same process waits, too; or raises `OSError`."""
    if sys.platform == "win32":
        # A byte that nobody reads, since Windows would refuse to read it.
        os.lseek(file, 1 << 30, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        os.lseek(file, 0, os.SEEK_SET)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


_held: set[int] = set()


def _forget():
    """Closes the locks in a forked process, which would hold them when its parent has ended."""
    while _held:
        os.close(_held.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def __dir__():
    return sorted(__all__)
