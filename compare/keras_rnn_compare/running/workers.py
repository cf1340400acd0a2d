"""Trial executors: this process, processes of this machine, or those of any executor, such as Dask's.

A trial depends on its cell, rate, seed and steps alone, so it may run anywhere. What all of them share, the data above
all, is sent to a worker once, which keeps it, and the compiled models. Each worker has one trial at a time, since the
random seeds are those of a process; one that dies loses that trial, which runs again. Only this process writes.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import importlib.util
import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from typing import Any

import keras

from keras_rnn_compare import arguments
from keras_rnn_compare.models.strategies import Learners
from keras_rnn_compare.running.folder import origin
from keras_rnn_compare.running.schedule import next_for

# Worker polling interval, and the seconds to reach a scheduler, and without any worker before giving up.
POLL, CONNECT, PATIENCE = 0.5, 5, 60
# Maximum losses of a worker by the same trial.
LOSSES = 3
# One thread for each worker; the libraries read this when they are imported.
ONE_THREAD = dict.fromkeys(
    ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"], "1"
) | {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
ONE_THREAD_OF_XLA = "--xla_cpu_multi_thread_eigen=false"


def workers_for(workers=None, executor=None, dask=None, candidates=None):
    """Returns a function of the `Problem` and the `Progress` that makes the workers, or `None` for this process.

    Raises an error if that cannot work, before anything is trained.

    Args:
        workers, executor: The arguments of `compare`.
        dask: Address of a Dask scheduler, or `None`.
        candidates: Dict of the candidates, which must reach the workers.
    """
    workers = arguments.integer("workers", workers, optional=True)
    if executor is not None:
        made = _for_executor(workers, executor)
    elif dask is not None:
        if importlib.util.find_spec("distributed") is None:
            raise ValueError(f"--dask needs Dask's distributed: pip install distributed. Received: --dask {dask}")
        made = functools.partial(Cluster, dask)
    elif workers in (None, 1):
        return None
    else:
        made = functools.partial(Processes, workers)
    pickled(candidates or {})
    return made


def _for_executor(workers, executor):
    if not isinstance(executor, concurrent.futures.Executor):
        raise TypeError(
            "Argument `executor` must be a concurrent.futures.Executor, or None. "
            f"Received: executor={executor!r} (of type {type(executor).__name__})"
        )
    if isinstance(executor, concurrent.futures.ThreadPoolExecutor):
        raise ValueError(
            "Argument `executor` must run its tasks in other processes: threads share their random seeds, so trials in "
            f"them would disturb each other. Received: executor={executor!r}"
        )
    client = getattr(executor, "_client", None)
    if type(executor).__module__.partition(".")[0] == "distributed" and client is not None:
        return functools.partial(Cluster, client)
    # Those of the standard library and of loky have it.
    workers = workers or getattr(executor, "_max_workers", None)
    if workers is None:
        raise ValueError(
            "Argument `workers` must say how many trials to run at a time, where `executor` does not tell how many "
            f"workers it has. Received: workers=None, executor={executor!r}"
        )
    return functools.partial(Pool, executor, workers)


def pickled(candidates):
    """Returns the candidates as bytes, by name, or raises an error with the one that cannot be sent to workers."""
    sent = {}
    for name, candidate in candidates.items():
        try:
            sent[name] = pickle.dumps(candidate)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(
                "Argument `cells` must have classes, or functions of a module, where other processes train: neither a "
                f"lambda nor a function inside another one can be sent to them. Received: {name} ({error})"
            ) from None
    return sent


# In a worker.


class ProblemNotLoaded(Exception):
    """A worker does not have the problem yet, or no longer."""


class IncompatibleWorker(ValueError):
    """A worker cannot take part."""


@dataclasses.dataclass
class Problem:
    """What all trials of a comparison share.

    Args:
        data, shape: The `Data` and the `ModelShape`.
        size: Number of sequences in a batch.
        cells: Dict of the pickled candidates.
    """

    data: Any
    shape: Any
    size: int
    cells: dict[str, bytes]
    key: str = dataclasses.field(default_factory=lambda: uuid.uuid4().hex)
    # What is set by functions, and what decides about numbers: the same everywhere.
    policy: str = dataclasses.field(default_factory=lambda: keras.config.dtype_policy().name)
    floatx: str = dataclasses.field(default_factory=keras.config.floatx)
    versions: dict[str, str] = dataclasses.field(default_factory=lambda: runs_on())


def runs_on():
    """Returns the backend and the versions of this process."""
    versions = origin()["versions"]
    names = ("keras_rnn_compare", "keras_adaptive_rnn", "keras", keras.backend.backend())
    return {"backend": keras.backend.backend(), **{name: versions[name] for name in names}}


def process():
    """Returns what tells this process from all others."""
    return socket.gethostname(), os.getpid()


class WorkerState:
    """What a worker keeps for the jobs to come: the problem, and the model of each cell."""

    def __init__(self, problem):
        here = runs_on()
        if here != problem.versions:
            raise IncompatibleWorker(
                f"a worker (process {os.getpid()} on {socket.gethostname()}) runs on {said(here)}, and this process on "
                f"{said(problem.versions)}: start the workers with KERAS_BACKEND={problem.versions['backend']} and the "
                "same versions"
            )
        keras.config.set_floatx(problem.floatx)
        keras.config.set_dtype_policy(problem.policy)
        candidates = {}
        for name, cell in problem.cells.items():
            try:
                candidates[name] = pickle.loads(cell)
            except Exception as error:
                raise IncompatibleWorker(
                    "Argument `cells` must have cells that the workers can import: put the function into a module that "
                    f"they find. Received: {name} ({type(error).__name__} in a worker: {error})"
                ) from None
        self.key = problem.key
        self.learner = Learners(problem.data, problem.shape, problem.size, candidates)


_state: WorkerState | None = None


def work(key, job, problem=None):
    """Runs a job in a worker; without one, only takes the problem and returns what tells the process from others."""
    global _state
    if problem is not None and (_state is None or _state.key != key):
        _state = None  # Freed before the next one takes memory.
        _state = WorkerState(problem)
    if _state is None or _state.key != key:
        raise ProblemNotLoaded
    return process() if job is None else job.run(_state.learner)


class Child:
    """A process of a worker of Dask, in which its jobs run.

    The threads of Dask draw from the random numbers of their process, and so does Keras when it makes a model. It ends
    with its parent, whose end of the pipe is closed then.
    """

    def __init__(self):
        # A worker may be a daemon, to which `multiprocessing` gives no child.
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "KERAS_BACKEND": keras.backend.backend(), "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def run(self, *job):
        """Returns what `work` returns there, or raises what it raises."""
        try:
            pickle.dump(job, self.process.stdin)
            self.process.stdin.flush()
            is_done, outcome = pickle.load(self.process.stdout)
        except (EOFError, OSError) as error:
            self.close()
            raise ChildDied(f"process {self.process.pid} on {socket.gethostname()} has died") from error
        if not is_done:
            raise outcome
        return outcome

    def close(self):
        """Ends the process."""
        self.process.kill()
        self.process.stdout.close()
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait()


class ChildDied(concurrent.futures.BrokenExecutor):
    """The process in which a worker of Dask runs its jobs has died."""


_child: Child | None = None
# A worker of Dask may have several threads.
_alone = threading.Lock()


def work_in_child(key, job, problem=None):
    """Does what `work` does, in a process of its own that is kept for the next job."""
    global _child
    with _alone:
        if _child is not None and _child.process.poll() is not None:
            _child.close()
            _child = None
        _child = _child or Child()
        return _child.run(key, job, problem)


def serve():
    """Runs jobs that come from standard input, in a `Child`, until its parent ends."""
    begin = os.dup(1)
    # What libraries print is no outcome.
    os.dup2(2, 1)
    with os.fdopen(begin, "wb") as replies:
        while True:
            try:
                job = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            try:
                reply = True, work(*job)
            except Exception as error:
                reply = False, error
            pickle.dump(reply, replies)
            replies.flush()


def said(versions):
    return ", ".join(f"{name} {version}" for name, version in versions.items() if name != "backend")


# In the process that compares.


class Here:
    """No workers: jobs run in this process, one after the other."""

    at_once = 1

    def __init__(self, learner, progress):
        self.learner, self.progress = learner, progress

    def run(self, jobs):
        """Yields each job with what it returns."""
        for job in jobs:
            self.progress.says(job.says)
            yield job, job.run(self.learner, lambda share, job=job: self.progress.advance(share * job.seconds))


@dataclasses.dataclass(eq=False)
class Worker:
    """A worker, or a place in a pool of them: it has one job at a time.

    Args:
        executor: What its jobs are given to.
        where: What it is called in messages.
        built: The cells whose models it has compiled, or `None` if every job may run in another process.
        process: What tells its process from others, once it has the problem.
    """

    executor: concurrent.futures.Executor
    where: str
    built: set[str] | None = None
    process: tuple[str, int] | None = None


class Workers:
    """Workers that run jobs; what kind of workers, subclasses say.

    Args:
        problem: The `Problem`.
        progress: The `Progress`, which is told what runs and what is done.
    """

    # What a future raises if its worker has died.
    lost: tuple[type[BaseException], ...] = (concurrent.futures.BrokenExecutor,)
    # What a worker runs.
    work = staticmethod(work)

    def __init__(self, problem, progress):
        self.problem, self.progress = problem, progress
        self.workers, self.running = [], {}
        self.losses = collections.Counter()
        # Seconds to build the model of a cell in another worker.
        self.builds = collections.defaultdict(float)

    def __enter__(self):
        try:
            self.poll()
            # All that are there take the problem, and what is wrong with one of them is told before any training.
            while not all(worker.process for worker in self.workers):
                self.dispatch([])
                list(self.collect())
                self.poll()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def at_once(self):
        """How many jobs run at a time."""
        return max(1, len(self.workers))

    def run(self, jobs):
        """Yields each job with what it returns, in the order in which they end."""
        self.waiting = list(jobs)
        while self.waiting or self.running:
            self.poll()
            self.dispatch(self.waiting)
            yield from self.collect()

    def dispatch(self, waiting):
        """Gives each worker without a job the next one for it, or first the problem."""
        busy = {worker for worker, _ in self.running.values()}
        for worker in [worker for worker in self.workers if worker not in busy]:
            if worker.process is None:
                self.submit(worker, None, self.problem)
                continue
            elsewhere = set().union(*(other.built or () for other in self.workers if other is not worker))
            trials = [(job.name, job.seconds) for job in waiting]
            k = next_for(worker.built or set(), elsewhere, trials, self.builds)
            if k is not None:
                job = waiting.pop(k)
                self.progress.says(job.says)
                self.submit(worker, job)

    def submit(self, worker, job, problem=None):
        if job is not None and worker.built is not None:
            worker.built.add(job.name)
        try:
            future = worker.executor.submit(self.work, self.problem.key, job, problem)
        except self.lost as error:  # It died without a job.
            future = concurrent.futures.Future()
            future.set_exception(error)
        self.running[future] = worker, job

    def collect(self):
        """Waits for jobs to end, for a moment, and yields each with what it returns."""
        if not self.running:
            time.sleep(POLL)
        for future in concurrent.futures.wait(self.running, POLL, concurrent.futures.FIRST_COMPLETED).done:
            if future not in self.running:
                continue
            worker, job = self.running.pop(future)
            try:
                outcome = future.result()
            except ProblemNotLoaded:
                # Another worker of the pool than the one that took the problem.
                self.submit(worker, job, self.problem)
            except self.lost as error:
                self.lose(worker, job, error)
            except Exception as error:
                if job is not None or isinstance(error, IncompatibleWorker):
                    raise
                raise IncompatibleWorker(
                    f"{worker.where} cannot begin ({type(error).__name__}: {error}): it needs keras_rnn_compare, "
                    "Keras and the backend, in the versions of this process"
                ) from error
            else:
                if job is None:
                    self.greet(worker, outcome)
                else:
                    self.progress.advance(job.seconds)
                    yield job, outcome

    def greet(self, worker, found):
        """Notes that a worker has the problem, and what tells its process from others."""
        if found == process():
            raise ValueError(
                "Argument `executor` must run its tasks in other processes: threads of this one share its random "
                f"seeds, so trials in them would disturb each other. Received: {worker.where}"
            )
        worker.process = found

    def lose(self, worker, job, error):
        """Lets a job whose worker has died run again, unless it has crashed too many of them."""
        self.losses[job] += 1
        if job is None:
            self.replace(worker)
            return
        if self.losses[job] == LOSSES:
            raise ChildProcessError(
                f"a worker died {LOSSES} times while it ran the same trial ({job.says}), perhaps for lack of memory: "
                "the other trials are kept"
            )
        self.progress.warn(f"{worker.where} has died: its trial ({job.says}) runs again")
        self.waiting.insert(0, job)
        self.replace(worker)

    def poll(self):
        """Notices which workers there are."""

    def replace(self, worker):
        """Deals with a worker that has died."""

    def close(self):
        """Ends the workers, where they are ours, and whatever they are doing."""
        for future in self.running:
            future.cancel()


class Processes(Workers):
    """Processes of this machine, each with a core of its own as long as there are enough of them."""

    def __init__(self, count, problem, progress):
        super().__init__(problem, progress)
        self.cores = cores()
        if count > len(self.cores):
            progress.line(f"{count} workers share {len(self.cores)} of the machine's cores, the ones it may use here")
        self.workers = [Worker(one_process(), f"worker {k + 1}", set()) for k in range(count)]
        self.started = {}

    @property
    def at_once(self):
        return min(len(self.workers), len(self.cores))

    def submit(self, worker, job, problem=None):
        if worker in self.started:
            super().submit(worker, job, problem)
            return
        # The executor starts its process with the first job.
        before = multiprocessing.active_children()
        with starting(self.cores[self.workers.index(worker) % len(self.cores)]):
            super().submit(worker, job, problem)
        self.started[worker] = [child for child in multiprocessing.active_children() if child not in before]

    def lose(self, worker, job, error):
        if job is None and (self.losses[None] + 1 == LOSSES or not any(each.process for each in self.workers)):
            raise ChildProcessError(
                "the worker processes end before they can begin. A script that calls compare(workers=...) must do so "
                'under `if __name__ == "__main__":`, since each of them imports it'
            ) from error
        super().lose(worker, job, error)

    def replace(self, worker):
        self.end(worker)
        worker.executor, worker.built, worker.process = one_process(), set(), None

    def end(self, worker):
        for child in self.started.pop(worker, ()):
            child.kill()
        worker.executor.shutdown()

    def close(self):
        super().close()
        for worker in self.workers:
            self.end(worker)


def cores():
    """Returns the numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def one_process():
    """Returns an executor of a single process, which is started with its first job."""
    # A fork would copy the threads' locks of the backend, but not the threads.
    spawn = multiprocessing.get_context("spawn")
    return concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn, initializer=begin_process)


@contextlib.contextmanager
def starting(core):
    """What a process is started in: it inherits one core, one thread, the backend, and that Ctrl-C is not for it."""
    flags = os.environ.get("XLA_FLAGS", "")
    new = {**ONE_THREAD, "KERAS_BACKEND": keras.backend.backend(), "XLA_FLAGS": f"{flags} {ONE_THREAD_OF_XLA}".strip()}
    # What it says when it is imported, it has said in this process.
    new["TF_CPP_MIN_LOG_LEVEL"] = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "3")
    before = {name: os.environ.get(name) for name in new}
    has_cores, is_main = hasattr(os, "sched_setaffinity"), threading.current_thread() is threading.main_thread()
    with contextlib.ExitStack() as stack:
        for name, value in before.items():
            stack.callback(os.environ.pop, name) if value is None else stack.callback(os.environ.update, {name: value})
        os.environ.update(new)
        if has_cores:
            stack.callback(os.sched_setaffinity, 0, os.sched_getaffinity(0))
            os.sched_setaffinity(0, {core})
        if is_main:
            stack.callback(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        yield


def begin_process():
    """Prepares a worker process: it leaves Ctrl-C to the process that compares, and ends with it, even if killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent():
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


class Pool(Workers):
    """Places in an executor of the user's, which says nothing of its workers."""

    def __init__(self, executor, count, problem, progress):
        super().__init__(problem, progress)
        self.workers = [Worker(executor, f"executor={executor!r}") for _ in range(count)]

    def lose(self, worker, job, error):
        raise ChildProcessError(
            f"a worker of the executor has died, and with it the executor ({error}). Received: {worker.where}"
        ) from error


class Cluster(Workers):
    """The workers of a Dask cluster, which may come and go.

    Args:
        client: A `distributed.Client`, or the address of a scheduler.
    """

    work = staticmethod(work_in_child)

    def __init__(self, client, problem, progress):
        from distributed import KilledWorker

        super().__init__(problem, progress)
        self.lost = (KilledWorker, ChildDied, concurrent.futures.CancelledError)
        self.is_ours = isinstance(client, str)
        self.client = connected(client) if self.is_ours else client
        self.seen = time.monotonic()

    def __enter__(self):
        try:
            if not self.client.nthreads():
                raise ConnectionError(
                    f"the Dask cluster at {self.client.scheduler.address} has no workers: start some, as in "
                    f"`dask worker {self.client.scheduler.address}`"
                )
        except BaseException:
            self.close()
            raise
        return super().__enter__()

    def poll(self):
        try:
            there = self.client.nthreads()
        except OSError as error:
            raise ConnectionError(f"the Dask scheduler no longer answers ({error})") from None
        for worker in [worker for worker in self.workers if worker.where not in there]:
            for future in [future for future, (other, _) in self.running.items() if other is worker]:
                _, job = self.running.pop(future)
                # Dask would wait for a worker of this address to return.
                future.cancel()
                self.lose(worker, job, None)
            self.replace(worker)
        known = {worker.where for worker in self.workers}
        for address in there:
            if address not in known:
                executor = self.client.get_executor(workers=[address], pure=False)
                self.workers.append(Worker(executor, address, set()))
        if self.workers:
            self.seen = time.monotonic()
        elif time.monotonic() - self.seen > PATIENCE:
            raise ConnectionError(f"the Dask cluster has had no workers for {PATIENCE} seconds")

    def submit(self, worker, job, problem=None):
        if problem is not None:
            try:
                # Not as an argument: the scheduler would keep a copy.
                problem = self.client.scatter(problem, workers=[worker.where], hash=False)
            except OSError:
                return  # The worker is about to be missed, or will be asked again.
        super().submit(worker, job, problem)

    def replace(self, worker):
        if worker in self.workers:
            self.workers.remove(worker)

    def close(self):
        super().close()
        if self.is_ours:
            self.client.close()


def connected(address):
    """Returns a client of the Dask scheduler at an address, or raises an error."""
    import distributed

    try:
        return distributed.Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        said = " ".join(str(error).split())
        raise ConnectionError(f"no Dask scheduler answers at {address} within {CONNECT} seconds: {said}") from None
