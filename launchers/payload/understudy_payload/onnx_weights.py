"""Reads the float tensors of an ONNX file. Only the weights are wanted, so no ONNX runtime is.

ONNX is protocol buffers, whose wire format is frozen: a message is a list of (field number, wire type, value).
Field numbers are those of onnx.proto3: ModelProto.graph = 7, GraphProto.initializer = 5,
TensorProto.dims = 1, data_type = 2, float_data = 4, name = 8, raw_data = 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy

FLOAT = 1
GRAPH, INITIALIZER = 7, 5
DIMS, DATA_TYPE, FLOAT_DATA, NAME, RAW_DATA = 1, 2, 4, 8, 9
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def read_weights(path: Path) -> dict[str, numpy.ndarray]:
    """Every float32 initializer by name. ValueError when the file is no ONNX model."""
    data = memoryview(path.read_bytes())
    weights = {}
    try:
        for graph in _values(data, GRAPH):
            for tensor in _values(graph, INITIALIZER):
                name, values = _tensor(tensor)
                if values is not None:
                    weights[name] = values
    except (IndexError, TypeError) as error:
        raise ValueError(f"{path} is no ONNX model: {error}") from error
    if not weights:
        raise ValueError(f"{path} holds no float weights")
    return weights


def _tensor(data: memoryview) -> tuple[str, numpy.ndarray | None]:
    """Name and values of a TensorProto; None for a type other than float32."""
    shape: list[int] = []
    name, kind, values = "", 0, numpy.empty(0, "<f4")
    for field, wire, value in _fields(data):
        if field == DIMS:
            shape += [value] if wire == VARINT else list(_varints(value))
        elif field == DATA_TYPE:
            kind = value
        elif field == NAME:
            name = bytes(value).decode()
        elif field in (FLOAT_DATA, RAW_DATA) and wire == BYTES and len(value) % 4 == 0:
            values = numpy.frombuffer(value, "<f4")
    return name, values.reshape(shape).copy() if kind == FLOAT else None


def _values(data: memoryview, wanted: int) -> Iterator[memoryview]:
    return (value for field, wire, value in _fields(data) if field == wanted and wire == BYTES)


def _fields(data: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """(field number, wire type, value) of each field of a message."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        field, wire = key >> 3, key & 7
        if wire == VARINT:
            value, position = _varint(data, position)
        elif wire in (FIXED32, FIXED64, BYTES):
            size = {FIXED32: 4, FIXED64: 8}.get(wire)
            if size is None:
                size, position = _varint(data, position)
            if position + size > len(data):
                raise IndexError("a field is cut off")
            value, position = data[position : position + size], position + size
        else:
            raise IndexError(f"wire type {wire} is not used by ONNX")
        yield field, wire, value


def _varints(data: memoryview) -> Iterator[int]:
    position = 0
    while position < len(data):
        value, position = _varint(data, position)
        yield value


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    """A base-128 number, lowest seven bits first, and where it ends."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
