"""The one exception of the package."""

from stepstore import _core
from stepstore.printable import printable


class Error(RuntimeError):
    """A failure of the store: str(error) says what was tried on what, and what to do. It is one line that a
    terminal may show, whatever names are in it."""

    def __init__(self, code: int, message: str):
        message = printable(message)
        super().__init__(code, message)
        self.code = code
        self.message = message

    @property
    def name(self) -> str:
        """The code's DAOS name: DER_NONEXIST and so on."""
        return _core.error_name(self.code)

    def __str__(self) -> str:
        return self.message


_core.set_error_type(Error)


def is_in_doubt(error: Error) -> bool:
    """Whether an update that failed so may have been carried out, or may be so later (client/in_doubt.h)."""
    return _core.is_in_doubt(error.code)


DER_NO_PERM = -1001
DER_NO_HDL = -1002
DER_INVAL = -1003
DER_EXIST = -1004
DER_NONEXIST = -1005
DER_NOSYS = -1010
DER_BUSY = -1012
DER_CANCELED = -1018
DER_IO = -2001
DER_STALE = -2007
DER_CSUM = -2021
