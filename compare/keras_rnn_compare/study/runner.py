"""The trials of a comparison, run where there are workers, and kept in its folder."""

import contextlib

from keras_rnn_compare.models.strategies import Learners
from keras_rnn_compare.models.trials import Trial
from keras_rnn_compare.running.folder import digest
from keras_rnn_compare.running.schedule import trial_seconds
from keras_rnn_compare.running.workers import Here, Problem, pickled


class Runner:
    """Runs the trials that the folder does not hold yet.

    Args:
        study: The `Study`.
        workers: The `Workers` that run them, or `Here`.
        learner: Function of a name, units and a strategy that returns the `Learner`, in this process.
    """

    def __init__(self, study, workers, learner):
        self.study, self.folder, self.progress = study, study.folder, study.progress
        self.workers, self.learner = workers, learner

    @property
    def at_once(self):
        """How many jobs run at a time."""
        return self.workers.at_once

    def expect(self, plan):
        """Tells the workers what it takes to build the models."""
        self.workers.builds = {name: plan.times[name]["build"] for name in plan.cells}

    def run(self, jobs):
        """Yields each job with what it returns, in the order in which they end."""
        return self.workers.run(jobs)

    def weights(self, trial):
        """Returns the path of the weights of a trial."""
        return self.folder.path / f"trials/{trial.key}.weights.h5"

    def records(self, trials):
        """Yields the records of trials in their order; those that are not in the folder are run."""
        records = {trial.key: self._kept(trial) for trial in trials}
        for trial in [trial for trial in trials if records[trial.key] is not None]:
            self.progress.advance(trial.seconds)
        ended = self.run([trial for trial in trials if records[trial.key] is None])
        for trial in trials:
            # Workers may end them in another order.
            while records[trial.key] is None:
                other, outcome = next(ended)
                records[other.key] = self._keep(other, *outcome)
            yield records[trial.key]

    def _kept(self, trial):
        """Returns the record of a trial in the folder, or `None`."""
        needs = ("score", "accuracy", "curve", "seconds", *trial.made_by, *trial.needs)
        needs += ("weights",) if trial.more is not None else ()
        weights = self.weights(trial)

        def fault(record):
            other = [each for each in trial.made_by if record[each] != trial.made_by[each]]
            if other:
                return f"is of another plan ({other[0]} {record[other[0]]!r} instead of {trial.made_by[other[0]]!r})"
            if trial.more is not None and record["weights"] != digest(weights):
                return f"has lost its weights, {weights.name}, which are {'damaged' if weights.exists() else 'missing'}"
            return None

        return self.folder.kept(f"trials/{trial.key}", needs, fault)

    def _keep(self, trial, record, weights):
        """Writes a trial that has ended, and returns its record as it will be read."""
        if weights is not None:
            with self.folder.replaced(f"trials/{trial.key}.weights.h5") as path:
                path.write_bytes(weights)
            record = {**record, "weights": digest(self.weights(trial))}
        return self.folder.put(f"trials/{trial.key}", record)


def trials_done(folder):
    """Returns the number of trials that are in a `Folder`."""
    return len(list((folder.path / "trials").glob("[!.]*.json")))


@contextlib.contextmanager
def started(study, team):
    """Returns a context of the `Runner` of a study, with the workers that `workers_for` has made, or this process."""
    learner = Learners(study.data, study.shape, study.batch_size, study.candidates)
    if team is None:
        yield Runner(study, Here(learner, study.progress), learner)
        return
    problem = Problem(study.data, study.shape, study.batch_size, pickled(study.candidates))
    with team(problem, study.progress) as workers:
        yield Runner(study, workers, learner)


def trial_of(study, plan, name, rate, seed, training, key, title, **more):
    """Returns a `Trial` of a cell.

    Args:
        study, plan: The `Study` and the `Plan`.
        name, rate, seed: Of the `Trial`.
        training: Dict of the steps, as `Learner.train` takes it.
        key: What its file is called after the cell.
        title: What is shown after the title of the cell.
        more: Further arguments of the `Trial`.
    """
    says, seconds = f"{study.title(name)}, {title}", trial_seconds(training, plan.times[name])
    return Trial(name, plan.units[name], rate, seed, training, f"{name}-{key}", says, seconds, **more)
