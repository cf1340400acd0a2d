"""The checks of `check_cell` and `check_layer`, run, and the report of those of a layer."""

import ast
import dataclasses
import inspect
import textwrap
from typing import Any

STATUSES = ("passed", "failed", "not applicable")
# What the bodies of the checks of layers use.
IMPORT = "from keras_adaptive_rnn.testing.layer_checks import *"


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


@dataclasses.dataclass(frozen=True)
class LayerReport:
    """The report of `keras_adaptive_rnn.testing.check_layer`, which `print` shows as a table of Markdown.

    Below the table are the lines that reproduce each failure. `pandas.DataFrame(report.rows)` makes a table, too.

    Attributes:
        name: String, the class of the layer.
        rows: List of dicts, one per `check`: its `rule`, and its `status`, `"passed"`, `"failed"` or
            `"not applicable"`, with the `reason`. Where numbers differ by more than is allowed, `value` and `allowed`
            say by how much, and elsewhere are `None`; `lines` reproduce a failure.
    """

    name: str
    rows: list[dict[str, Any]]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self._of("failed")

    def _of(self, status):
        return [row for row in self.rows if row["status"] == status]

    def __str__(self):
        counts = ", ".join(f"{len(self._of(status))} {status}" for status in STATUSES)
        lines = [f"| {row['check']} | {row['status']} | {' '.join(row['reason'].split())} |" for row in self.rows]
        parts = ["\n".join([f"{self.name}: {counts}", "", "| check | result | |", "| --- | --- | --- |", *lines])]
        for row in self._of("failed"):
            parts.append(f"{row['check']}: {row['rule']}\n\n{textwrap.indent(row['lines'], '    ')}")
        return "\n\n".join(parts)


def report_of(name, results, case):
    """Returns the `LayerReport` of results; `case` is the line that makes what was checked."""
    rows = [
        {
            "check": result.name,
            "rule": result.rule[0],
            "status": result.status,
            "value": getattr(result.error, "value", None),
            "allowed": getattr(result.error, "allowed", None),
            "reason": result.reason,
            "lines": f"{IMPORT}\n\n{case}\n{_body(result.check)}" if result.error else "",
        }
        for result in results
    ]
    return LayerReport(name, rows)


def _body(function):
    """Returns the lines of a function after its docstring."""
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    (parsed,) = ast.parse("\n".join(lines)).body
    return textwrap.dedent("\n".join(lines[parsed.body[1].lineno - 1 :]))
