"""One to ten symbols, kept over a hundred steps.

    python -m examples.papers.memory_length

Reference: Miceli Barone, Low-Rank Passthrough Neural Networks (2016), section 3.0.1.
"""

from examples.papers import _study, memory

STUDY = memory.STUDY._replace(
    name="memory_length",
    title="Memory: one to ten symbols over a long gap",
    claim="With a gap of 100 steps, a GRU of 128 units, rank 50 and a diagonal comes below a "
    "cross entropy of 0.001 in less than 30,000 updates.",
    protocol="The gap has 100 steps. All else is as in the study of memory.",
    budgets={
        "test": {**memory.STUDY.budgets["test"], "variable": "length"},
        "small": {**memory.SMALL, "variable": "length", "rounds": 100},
        "paper": {**memory.SMALL, "variable": "length", "rounds": 300},
    },
    found="",
)

if __name__ == "__main__":
    _study.main(STUDY)
