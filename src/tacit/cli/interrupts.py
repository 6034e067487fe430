"""Ctrl-C, clean at any moment: one line and exit code 130, never a traceback.

The first press raises KeyboardInterrupt, so that unfinished files are removed; a second one meanwhile changes nothing
(some shells and wrappers send two); a third ends the process at once, with the same line.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

INTERRUPTED = 130
"""The exit code: 128 and the number of the signal, as shells have it."""
_MOMENT = 0.02
"""Seconds after which a finaliser is over."""


class Interrupts:
    """Handles Ctrl-C while a command runs: between :meth:`begin` and :meth:`end`, in the main thread.

    Whoever has set another handler, or ignores the signal as ``nohup`` does, keeps that.
    """

    def __init__(self, last_words: Callable[[], str]) -> None:
        self._last_words = last_words
        self.pressed = 0
        self.over = False
        self._holds = False
        self._unraisable: Any = None

    def begin(self) -> None:
        """Handle Ctrl-C from now on."""
        here = threading.current_thread() is threading.main_thread()
        if here and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._unraisable, sys.unraisablehook = sys.unraisablehook, self._swallowed
            signal.signal(signal.SIGINT, self)
            self._holds = True

    def end(self, *, process: bool) -> None:
        """Handle it no more. Where the process ends too, another press ends it silently instead of in a traceback."""
        if self._holds:
            signal.signal(signal.SIGINT, signal.SIG_DFL if process else signal.default_int_handler)
            sys.unraisablehook = self._unraisable

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """One press. Nothing is left to interrupt once the command is over."""
        if self.over:
            return
        self.pressed += 1
        if self.pressed == 1:
            raise KeyboardInterrupt
        if self.pressed > 2:
            os.write(2, f"{self._last_words()}\n".encode())
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)

    def _swallowed(self, told: Any) -> None:
        """A press that Python could not deliver, as in a finaliser, comes again a moment later."""
        if issubclass(told.exc_type, KeyboardInterrupt):
            self.pressed = 0
            again = threading.Timer(_MOMENT, signal.raise_signal, [signal.SIGINT])
            again.daemon = True
            again.start()
        else:
            self._unraisable(told)
