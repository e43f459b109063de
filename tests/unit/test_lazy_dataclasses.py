"""Dataclasses that compile nothing before their first value is made behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from typing import Any, ClassVar

import pytest
from pydantic import TypeAdapter

from memory_core.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A frozen class with fields of every kind."""

    kind: ClassVar[str] = "place"
    name: str
    line: int = 1
    tags: dict[str, str] = field(default_factory=dict, compare=False)
    key: str = field(default="k", repr=False)


@dataclass(slots=True)
class Counter:
    """A mutable class."""

    first: int
    total: int = field(init=False)
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.total = self.first * 2


@dataclass(frozen=True, slots=True)
class Base:
    """A class that another extends."""

    left: int

    def __repr__(self) -> str:
        return "its own"


@dataclass(frozen=True, slots=True)
class Wider(Base):
    """The class that does."""

    right: int = 2


@dataclass(frozen=True, slots=True)
class Empty:
    """A class without fields."""


def test_values_are_made_compared_and_shown_as_in_the_standard_library() -> None:
    place = Place(name="a", tags={"x": "y"})
    assert (place.name, place.line, place.tags, place.key, place.kind) == ("a", 1, {"x": "y"}, "k", "place")
    assert repr(place) == "Place(name='a', line=1, tags={'x': 'y'})"
    assert place == Place(name="a")
    assert hash(place) == hash(Place(name="a"))
    assert place not in {Place(name="a", line=2), Place(name="a", key="other")}
    assert place.__eq__("a") is NotImplemented
    assert Place(name="b").tags is not Place(name="b").tags
    assert Empty() == Empty()
    assert repr(Empty()) == "Empty()"


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (Place, "missing 1 required keyword-only argument: 'name'"),
        (lambda: Place("a"), "takes 1 positional argument but 2"),  # type: ignore[call-arg]
        (lambda: Place(name="a", place=1), "unexpected keyword argument 'place'"),  # type: ignore[call-arg]
        (lambda: Counter(1, 2, 3), "takes from 2 to 3 positional arguments"),  # type: ignore[call-arg, arg-type]
    ],
)
def test_wrong_arguments_are_refused_by_name(make: Callable[[], object], complaint: str) -> None:
    with pytest.raises(TypeError, match=complaint):
        make()


def test_a_frozen_value_stays_as_it_is() -> None:
    place = Place(name="a")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'line'"):
        place.line = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'line'"):
        del place.line
    with pytest.raises(FrozenInstanceError):
        place.other = 2  # type: ignore[attr-defined]


def test_a_mutable_value_changes_and_has_no_hash() -> None:
    counter = Counter(2)
    counter.total += 1
    counter.names.append("a")
    assert (counter.total, counter.names, Counter(2).names) == (5, ["a"], [])
    assert counter != Counter(2, ["a"])
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)
    with pytest.raises(AttributeError):
        counter.other = 1  # type: ignore[attr-defined]


def test_a_class_extends_another_and_keeps_its_own_methods() -> None:
    assert (Wider(1).left, Wider(1).right, Wider(1, right=3).right) == (1, 2, 3)
    assert repr(Base(1)) == "its own"
    assert repr(Wider(1)) == "Wider(left=1, right=2)"
    assert Wider(1) != Base(1)


def test_the_tools_for_dataclasses_work() -> None:
    place = Place(name="a", line=3, tags={"x": "y"}, key="secret")
    assert [each.name for each in fields(Place)] == ["name", "line", "tags", "key"]
    assert replace(place, line=4) == Place(name="a", line=4, key="secret")
    assert asdict(place) == {"name": "a", "line": 3, "tags": {"x": "y"}, "key": "secret"}
    for twin in (copy.copy(place), copy.deepcopy(place), pickle.loads(pickle.dumps(place))):
        assert twin == place
        assert twin.tags == place.tags
    assert TypeAdapter(Place).validate_python({"name": "a", "line": 3}) == Place(name="a", line=3)
    assert list(inspect.signature(Place.__init__).parameters) == ["self", "name", "line", "tags", "key"]


def test_threads_may_make_the_first_value_together() -> None:
    for _ in range(20):

        @dataclass(frozen=True, slots=True)
        class Fresh:
            number: int

        made: list[Any] = []
        start = threading.Barrier(4)

        def make(made: list[Any] = made, start: threading.Barrier = start, cls: type[Any] = Fresh) -> None:
            start.wait()
            made.append(cls(1))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [Fresh(1)] * 4


def test_a_class_without_slots_is_refused() -> None:
    with pytest.raises(TypeError, match=r"dataclasses\.dataclass"):
        dataclass(slots=False)(type("Loose", (), {}))


def test_nothing_is_compiled_before_the_first_value() -> None:
    @dataclass(frozen=True, slots=True)
    class Late:
        number: int

    before = Late.__init__
    assert Late(1) == Late(number=1)
    assert Late.__init__ is not before
    assert Late.__init__.__qualname__.endswith("Late.__init__")
    assert dataclasses.is_dataclass(Late)
