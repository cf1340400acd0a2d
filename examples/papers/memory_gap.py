"""Ten symbols, kept for a number of steps that differs from sequence to sequence.

    python -m examples.papers.memory_gap

Reference: Miceli Barone, Low-Rank Passthrough Neural Networks (2016), section 3.0.1.
"""

from examples.papers import _study, memory

STUDY = memory.STUDY._replace(
    name="memory_gap",
    title="Memory: ten symbols over a gap of any length",
    claim="With up to 100 steps between, a GRU of 128 units, rank 50 and a diagonal comes below a "
    "cross entropy of 0.001 in less than 38,000 updates.",
    protocol="The gap is between 1 and 100 steps. All else is as in the study of memory.",
    budgets={
        "test": {**memory.STUDY.budgets["test"], "variable": "gap"},
        "small": {**memory.SMALL, "variable": "gap", "rounds": 100},
        "paper": {**memory.SMALL, "variable": "gap", "rounds": 380},
    },
    found="",
)

if __name__ == "__main__":
    _study.main(STUDY)
