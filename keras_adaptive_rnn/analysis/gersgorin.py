"""Discs that contain the eigenvalues of a matrix."""

import numpy as np


def gersgorin_discs(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Returns the centres and radii of the Gersgorin discs of a matrix, one per row, which contain its eigenvalues.

    $$\mathrm{spec}(A) \subset \bigcup_i \Big\{ \lambda \in \mathbb{C} : |\lambda - a_{ii}| \le \sum_{j \ne i} |a_{ij}|
    \Big\}$$

    The transposed matrix has the same eigenvalues but other discs.

    Args:
        matrix: Array `[n, n]`, real or complex, or several of them, `[..., n, n]`.

    Returns: `centres, radii`, each `[n]`, or `[..., n]` for several matrices.

    Raises:
        ValueError: the matrix is not square.

    Example:

    >>> centres, radii = keras_adaptive_rnn.analysis.gersgorin_discs(np.array([[1.0, -0.5], [0.25, 2.0]]))
    >>> centres.tolist(), radii.tolist()
    ([1.0, 2.0], [0.5, 0.25])

    Reference: Zilly, Srivastava, Koutnik, Schmidhuber, Recurrent Highway Networks (2017), section 3.
    """
    matrix = np.asarray(matrix)
    if matrix.ndim < 2 or matrix.shape[-2] != matrix.shape[-1]:
        raise ValueError(f"Argument `matrix` must be square. Received: an array of shape {matrix.shape}")
    centres = np.diagonal(matrix, axis1=-2, axis2=-1).copy()
    return centres, np.abs(matrix).sum(axis=-1) - np.abs(centres)
