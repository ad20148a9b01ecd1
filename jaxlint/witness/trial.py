"""What instrumented code is handed in the place of a function, or keeps on its stack."""

from typing import TYPE_CHECKING, Any

from .unseen import unseen

if TYPE_CHECKING:
    from .marks import Marks


class Trial:
    """Stands for a function that is tried first; called, it looks like that one."""

    def __init__(self, marks: "Marks", number: int, function: Any) -> None:
        self.__dict__.update(_marks=marks, _number=number, _function=function)
        self.__dict__["__module__"] = getattr(function, "__module__", None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    @unseen
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._marks.call(self._number, self._function, args, kwargs)


class Held:
    """Dies with a frame, or when the operation that it was made for is over."""

    __slots__ = ("frame", "marks", "number")

    def __init__(self, marks: "Marks", number: int, frame: int) -> None:
        self.marks, self.number, self.frame = marks, number, frame

    def __del__(self) -> None:
        self.marks.left(self.number, self.frame)
