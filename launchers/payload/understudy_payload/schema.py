"""Strict parsing of JSON objects into frozen dataclasses: the dataclass is the schema.

JSON keys are the camelCase form of the field names. Every key must be known, and present unless its field has a
default; types are not coerced (except a whole number where a float is wanted), and all problems are collected before
anything is reported.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from pathlib import Path
from typing import Any


def at_least(minimum: float, **options: Any) -> Any:
    """A numeric field with an inclusive lower bound."""
    return dataclasses.field(metadata={"minimum": minimum}, **options)


def between(minimum: float, maximum: float) -> Any:
    """A numeric field with inclusive bounds."""
    return dataclasses.field(metadata={"minimum": minimum, "maximum": maximum})


def parse(wanted: Any, value: Any, place: str, problems: list[str]) -> Any:
    """Return `value` as `wanted`; append `place: what is wrong` to `problems` for everything that does not fit."""
    origin = typing.get_origin(wanted)
    if dataclasses.is_dataclass(wanted):
        return _parse_object(wanted, value, place, problems)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else parse(typing.get_args(wanted)[0], value, place, problems)
    if origin is tuple:
        if not isinstance(value, list):
            problems.append(f"{place}: expected a list, got {_show(value)}")
            return ()
        item = typing.get_args(wanted)[0]
        return tuple(parse(item, each, f"{place}[{index}]", problems) for index, each in enumerate(value))
    if origin is typing.Literal:
        choices = typing.get_args(wanted)
        # 1 == True in Python, so the types must agree as well
        if not any(value == choice and type(value) is type(choice) for choice in choices):
            problems.append(f"{place}: expected {' or '.join(map(_show, choices))}, got {_show(value)}")
        return value
    return _parse_scalar(wanted, value, place, problems)


def _parse_object(wanted: Any, value: Any, place: str, problems: list[str]) -> Any:
    if not isinstance(value, dict):
        problems.append(f"{place or 'manifest'}: expected an object, got {_show(value)}")
        return None
    hints = typing.get_type_hints(wanted)
    fields = {_camel(field.name): field for field in dataclasses.fields(wanted)}
    before, parsed = len(problems), {}
    prefix = f"{place}." if place else ""
    for key in value:
        if key not in fields:
            problems.append(f"{prefix}{key}: unknown key (known: {', '.join(fields)})")
    for key, field in fields.items():
        if key not in value:
            if field.default is dataclasses.MISSING:
                problems.append(f"{prefix}{key}: missing")
            continue
        item = parse(hints[field.name], value[key], f"{prefix}{key}", problems)
        parsed[field.name] = item
        _check_bounds(field, item, f"{prefix}{key}", problems)
    if len(problems) > before:
        return None
    result = wanted(**parsed)
    if hasattr(result, "problems"):
        problems.extend(f"{prefix}{problem}" for problem in result.problems())
    return result


def _parse_scalar(wanted: Any, value: Any, place: str, problems: list[str]) -> Any:
    if wanted is Path:
        if isinstance(value, str) and value.startswith("/"):
            return Path(value)
        problems.append(f"{place}: expected an absolute path, got {_show(value)}")
        return value
    if wanted is float and type(value) is int:
        return float(value)
    names = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
    # bool is a subclass of int, hence the exact comparison
    if type(value) is not wanted or (wanted is float and not math.isfinite(value)):
        problems.append(f"{place}: expected {names[wanted]}, got {_show(value)}")
    return value


def _check_bounds(field: Any, value: Any, place: str, problems: list[str]) -> None:
    if type(value) not in (int, float):
        return
    minimum, maximum = field.metadata.get("minimum"), field.metadata.get("maximum")
    if minimum is not None and value < minimum:
        problems.append(f"{place}: expected at least {minimum}, got {value}")
    if maximum is not None and value > maximum:
        problems.append(f"{place}: expected at most {maximum}, got {value}")


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _show(value: Any) -> str:
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    return text if len(text) <= 80 else text[:77] + "..."
