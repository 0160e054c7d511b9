"""Errors that the user can fix: one plain sentence that says what to do."""


class RegardError(Exception):
    """The work failed; the message is one plain sentence, and the command exits with 1."""

    exit_code = 1


class UsageError(RegardError):
    """A request or an input is wrong; the command exits with 2 before it does any work."""

    exit_code = 2


class Interrupted(RegardError):
    """A signal stopped the work early; what was done is saved."""

    def __init__(self, text: str, signal_number: int) -> None:
        super().__init__(text)
        self.exit_code = 128 + signal_number
