"""What can go wrong in a way the user can put right: one plain sentence that says how."""


class RegardError(Exception):
    """The work failed; the message is one sentence for a person, and the command exits with 1."""

    exit_code = 1


class UsageError(RegardError):
    """What was asked or given cannot be right; the command exits with 2 before any work."""

    exit_code = 2


class Interrupted(RegardError):
    """Work ended early because a signal asked for it; what was done is saved."""

    def __init__(self, text: str, signal_number: int) -> None:
        super().__init__(text)
        self.exit_code = 128 + signal_number
