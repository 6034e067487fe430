"""Ctrl-C, and a polite request to end (SIGTERM), clean at any moment: one line and exit code 130 or 143, no traceback.

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

_HANDLED: dict[signal.Signals, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""Signals that end a command, with the handlers that are replaced."""
_MOMENT = 0.02
"""Seconds after which a finaliser is over."""


class Interrupts:
    """Handles both signals while a command runs: between :meth:`begin` and :meth:`end`, in the main thread.

    Whoever has set another handler, or ignores a signal as ``nohup`` does, keeps that. Processes that were forked
    meanwhile end as they would without this.
    """

    def __init__(self, last_words: Callable[[], str]) -> None:
        self._last_words = last_words
        self.pressed = 0
        self.over = False
        self._last = signal.SIGINT
        self._held: list[signal.Signals] = []
        self._process = os.getpid()
        self._unraisable: Any = None

    @property
    def code(self) -> int:
        """The exit code: 128 and the number of the signal, as shells have it."""
        return 128 + self._last

    def begin(self) -> None:
        """Handle the signals from now on."""
        if threading.current_thread() is not threading.main_thread():
            return
        for one, usual in _HANDLED.items():
            if signal.getsignal(one) is usual:
                signal.signal(one, self)
                self._held.append(one)
        if self._held:
            self._unraisable, sys.unraisablehook = sys.unraisablehook, self._swallowed

    def end(self, *, process: bool) -> None:
        """Handle them no more. Where the process ends too, another one ends it silently instead of in a traceback."""
        for one in self._held:
            signal.signal(one, signal.SIG_DFL if process else _HANDLED[one])
        if self._held:
            sys.unraisablehook = self._unraisable

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """One press. Nothing is left to interrupt once the command is over."""
        if self.over:
            return
        self.pressed += 1
        self._last = signal.Signals(number)
        here = os.getpid() == self._process
        if here and self.pressed == 1:
            raise KeyboardInterrupt
        if not here or self.pressed > 2:
            if here:
                os.write(2, f"{self._last_words()}\n".encode())
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    def _swallowed(self, told: Any) -> None:
        """A press that Python could not deliver, as in a finaliser, comes again a moment later."""
        if issubclass(told.exc_type, KeyboardInterrupt):
            self.pressed = 0
            again = threading.Timer(_MOMENT, signal.raise_signal, [self._last])
            again.daemon = True
            again.start()
        else:
            self._unraisable(told)
