"""The checks of `check_cell` and `check_layer`, run, and the report of those of a layer."""

import ast
import dataclasses
import inspect
import textwrap
from typing import Any

STATUSES = ("passed", "failed", "not applicable")


class NotApplicable(Exception):
    """A check asks for something that a layer does not claim to do."""


def needs(what):
    """Makes a check that is not applicable to cases with a reason for being without it: `case.missing(what)`."""

    def decorate(check):
        check.needs = what
        return check

    return decorate


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of one check: the error of one that failed, the reason of one that is not applicable."""

    check: Any
    status: str
    reason: str = ""
    error: Exception | None = None

    @property
    def name(self):
        return self.check.__name__

    @property
    def rule(self):
        """What the check asks for, and what its author says on how to get there."""
        rule, _, advice = (inspect.getdoc(self.check) or "").partition("\n\n")  # None under `python -OO`.
        return rule, " ".join(advice.split())


def run_checks(checks, skip, case):
    """Returns the `Result` of each check of `case`; `skip` lists names to leave out, or gives a reason for each."""
    names = [check.__name__ for check in checks]
    unknown = sorted(set(skip) - set(names))
    if unknown:
        raise ValueError(f"Argument `skip` must hold names out of {names}. Received: {unknown}")
    reasons = skip if isinstance(skip, dict) else dict.fromkeys(skip, "left out by `skip`")
    return [
        Result(check, "not applicable", reasons[check.__name__]) if check.__name__ in reasons else _result(check, case)
        for check in checks
    ]


def _result(check, case):
    if reason := hasattr(check, "needs") and case.missing(check.needs):
        return Result(check, "not applicable", reason)
    try:
        check(case)
    except NotApplicable as reason:
        return Result(check, "not applicable", str(reason))
    except Exception as error:  # Layers can fail in any way, and the user wants all of them.
        return Result(check, "failed", f"{type(error).__name__}: {error}", error)
    return Result(check, "passed")


class LayerReport:
    """The report of `keras_adaptive_rnn.testing.check_layer`, which `print` shows as a table of Markdown.

    Below the table are the lines that reproduce each failure.

    Attributes:
        name: String, the class of the layer.
        passed: Whether no check failed.
    """

    def __init__(self, name: str, results: list[Result], case: str):
        self.name, self._results, self._case = name, results, case

    @property
    def passed(self) -> bool:
        return not self._of("failed")

    def _of(self, status):
        return [result for result in self._results if result.status == status]

    def table(self) -> list[dict[str, Any]]:
        """Returns a dict per check; `pandas.DataFrame(report.table())` makes a table of them.

        `status` is `"passed"`, `"failed"` or `"not applicable"`, with a `reason`. Where numbers differ by more than is
        allowed, `value` and `allowed` say by how much, and elsewhere are `None`; `lines` reproduce a failure.
        """
        return [
            {
                "check": result.name,
                "status": result.status,
                "value": getattr(result.error, "value", None),
                "allowed": getattr(result.error, "allowed", None),
                "reason": result.reason,
                "lines": self._lines(result) if result.error else "",
            }
            for result in self._results
        ]

    def _lines(self, result):
        """Returns the body of a check, after a line that makes what it checks."""
        lines = textwrap.dedent(inspect.getsource(result.check)).splitlines()
        (function,) = ast.parse("\n".join(lines)).body
        body = textwrap.dedent("\n".join(lines[function.body[1].lineno - 1 :]))
        return f"from keras_adaptive_rnn.testing.layer_checks import *\n\n{self._case}\n{body}"

    def __str__(self):
        counts = ", ".join(f"{len(self._of(status))} {status}" for status in STATUSES)
        rows = [f"| {r.name} | {r.status} | {' '.join(r.reason.split())} |" for r in self._results]
        parts = ["\n".join([f"{self.name}: {counts}", "", "| check | result | |", "| --- | --- | --- |", *rows])]
        for result in self._of("failed"):
            parts.append(f"{result.name}: {result.rule[0]}\n\n{textwrap.indent(self._lines(result), '    ')}")
        return "\n\n".join(parts)
