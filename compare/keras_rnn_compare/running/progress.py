"""Progress: what runs, and how long it will take."""

import contextlib
import sys
import warnings


class Progress:
    """A bar in a terminal or a notebook, and lines that stay to be read, there and elsewhere.

    Args:
        verbose: Whether to show anything.
    """

    def __init__(self, verbose):
        self.verbose = verbose
        self._bar = self._task = None
        self._done = 0

    @contextlib.contextmanager
    def shown(self, title, total):
        """Shows a bar for work of `total` seconds, as long as the context lasts."""
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        console = Console(file=sys.stderr)
        if not self.verbose or not (console.is_terminal or console.is_jupyter):
            yield
            return
        columns = [
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %, run for"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        ]
        with Bar(*columns, console=console, transient=True) as self._bar:
            self._task = self._bar.add_task(title, total=total)
            try:
                yield
            finally:
                self._bar = None

    def says(self, text):
        """Says what runs now."""
        if self._bar is not None:
            self._bar.update(self._task, description=text)

    def advance(self, seconds):
        """Says that work of so many seconds, as it was estimated, is done."""
        if self._bar is not None:
            self._bar.advance(self._task, seconds)

    def warn(self, text):
        """Tells what the user must know, also where nothing else is shown."""
        if self.verbose:
            self.line(f"warning: {text}")
        else:
            warnings.warn(text, stacklevel=2)

    def line(self, text):
        """Prints what stays to be read."""
        if not self.verbose:
            return
        if self._bar is not None:
            self._bar.console.print(text, highlight=False, markup=False)
        else:
            print(text, file=sys.stderr, flush=True)
