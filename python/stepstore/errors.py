"""The one exception of the package."""

from stepstore import _core
from stepstore.printable import printable


class Error(RuntimeError):
    """A failure of the store.

    Its text says what was tried on what, and what to do. It is one line that a terminal may show, whatever
    names are in it.

    Parameters
    ----------
    code : int
        The negative number of the error, such as -1005.
    message : str
        What failed. Characters that a terminal would obey are replaced.

    Attributes
    ----------
    code : int
        The negative number of the error.
    message : str
        The text in one line.

    Examples
    --------
    >>> import stepstore
    >>> try:
    ...     stepstore.Pool.connect("./absent")
    ... except stepstore.Error as error:
    ...     print(error.name)
    DER_NONEXIST
    """

    def __init__(self, code: int, message: str):
        message = printable(message)
        super().__init__(code, message)
        self.code = code
        self.message = message

    @property
    def name(self) -> str:
        """The name that DAOS gives the code, such as "DER_NONEXIST"."""
        return _core.error_name(self.code)

    def __str__(self) -> str:
        return self.message


_core.set_error_type(Error)


def is_in_doubt(error: Error) -> bool:
    """Whether an update that failed with this error may still have been, or be, carried out.

    Parameters
    ----------
    error : Error
        What the update raised.

    Returns
    -------
    bool
        True: nobody knows whether the update is stored. Read the value to find out; it may also change later.
    """
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
DER_NOTSUPPORTED = -2037
