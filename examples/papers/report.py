"""Pages of the studies, one each and a list, made from the files of results. The site shows them.

python -m examples.papers.report draws the pictures of all studies again.
"""

import collections
import importlib
import json
import pathlib
import pkgutil
import re

from examples import papers
from examples.papers import _study

HEAD = """\
# All studies

Each study tests claims of a paper. The models of a study have the same number of weights, to within a few percent, and
figures are on the test set, unless the setup says otherwise: means over seeds, with standard errors, or both figures of
two seeds. A difference is significant if a paired t-test over the seeds finds it at 95 %; with three seeds, that takes
4.3 standard errors. All choices were made on validation data, never on the test set. Minutes are for one training run,
beside others on the same machine, so they are not a benchmark. [Results](../../docs/results.md) sums up what was found.
"""


def studies():
    """Returns the studies that have results, in the order of their names."""
    names = [name for _, name, _ in pkgutil.iter_modules(papers.__path__) if not name.startswith("_")]
    for name in names:
        module = importlib.import_module(f"examples.papers.{name}")
        if hasattr(module, "STUDY") and (_study.RESULTS / f"{name}.json").exists():
            yield module


def page(module) -> str:
    """Returns the page of a study, in Markdown. Its links start from the folder of this file."""
    study = module.STUDY
    results = read(study)
    header, lines = _study.table(study, results)
    rows = [header, ["---", *["---:"] * (len(header) - 1)], *lines]
    source = re.search(r"Reference: (.*)", module.__doc__, flags=re.DOTALL)[1].strip().replace("\n", " ")
    versions = results["versions"]
    settings = {**results["settings"], **results["settings"].get("options", {})}
    settings = ", ".join(f"{k} {v}" for k, v in settings.items() if k != "options" and v is not None)
    differences = _study.differences(study, results)
    drawn = pathlib.PurePosixPath("../../docs/images/results", picture(study).name)
    return "\n\n".join(
        [
            f"# {study.title}",
            f"**Claim.** {study.claim} ({source})",
            f"**Setup.** {linked(study.protocol)}",
            f"**Outcome.** {study.outcome[0].upper()}{study.outcome[1:]}.",
            f"**Result.** {linked(study.found)}",
            "\n".join("| " + " | ".join(row) + " |" for row in rows),
            *(["Differences at the same seed:", "\n".join(f"- {line}" for line in differences)] if differences else []),
            f"![Curves of {study.metric} over the {study.axis}]({drawn})" + cut_off(study),
            f"`python -m examples.papers.{study.name} --budget {results['budget']}`: {settings}. "
            f"Keras {versions['keras']}, {versions['backend']}, {machines(results)}. "
            f"[Program]({study.name}.py), [all figures](results/{study.name}.json).",
        ]
    )


def linked(text: str) -> str:
    """Returns a text in which the names of studies are links."""
    names = {path.stem for path in _study.RESULTS.glob("*.json")}
    return re.sub(r"`(\w+)`", lambda match: f"[{match[0]}]({match[1]}.py)" if match[1] in names else match[0], text)


def cut_off(study) -> str:
    """Returns where the picture ends, if curves go further."""
    ends = [f"{name} {end:g}" for name, end in (("below", study.bottom), ("above", study.top)) if end is not None]
    return f"\n\nThe picture leaves out what is {' or '.join(ends)}." if ends else ""


def machines(results: dict) -> str:
    """Returns the machine that trained the models, and how many of them were trained on others."""
    others = collections.Counter(row["machine"] for row in results["runs"] if "machine" in row)
    parts = [f"; {count} of {len(results['runs'])} training runs: {machine}" for machine, count in others.items()]
    return results["machine"] + "".join(parts)


def index() -> str:
    """Returns the page that lists the studies and their outcomes, in Markdown."""
    lines = [HEAD, "| study | seeds | outcome |", "| --- | ---: | --- |"]
    for module in studies():
        study = module.STUDY
        seeds = len({row["seed"] for row in read(study)["runs"]})
        lines.append(f"| [{study.title}]({study.name}.py) | {seeds} | {study.outcome} |")
    return "\n".join([*lines, ""])


def read(study) -> dict:
    return json.loads((_study.RESULTS / f"{study.name}.json").read_text(encoding="utf-8"))


def picture(study):
    return _study.PICTURES / f"{study.name}.png"


def main() -> None:
    for module in studies():
        _study.plot(module.STUDY, read(module.STUDY), picture(module.STUDY))
        print(f"Drew {picture(module.STUDY)}.")


if __name__ == "__main__":
    main()
