"""ClickHouse types of the catalogue as Arrow types: the one form to which a block's batches are brought.

Collectors send what is narrowest: `uint32` where no value of the batch needs more, dictionaries where few values
repeat, no column at all where no row has a value. So batches of one table differ, and only their common form is fixed.
"""

from collections.abc import Sequence

import pyarrow as pa

_SCALARS = {
    "String": pa.string(),
    "Bool": pa.bool_(),
    "Date": pa.date32(),
    "DateTime('UTC')": pa.timestamp("s", "UTC"),
    "DateTime64(6, 'UTC')": pa.timestamp("us", "UTC"),
    "Float64": pa.float64(),
    "Int64": pa.int64(),
    "UInt8": pa.uint8(),
    "UInt16": pa.uint16(),
    "UInt32": pa.uint32(),
    "UInt64": pa.uint64(),
}


def canonical(name: str, clickhouse: str) -> pa.Field:
    """The Arrow field that stands for a column of this ClickHouse type; ValueError for a type the catalogue lacks."""
    kind, nullable = _canonical(clickhouse)
    return pa.field(name, kind, nullable=nullable)


def _canonical(clickhouse: str) -> tuple[pa.DataType, bool]:
    if clickhouse in _SCALARS:
        return _SCALARS[clickhouse], False
    outer, _, inner = clickhouse.removesuffix(")").partition("(")
    if outer == "Nullable":
        return _canonical(inner)[0], True
    if outer == "LowCardinality":
        kind, nullable = _canonical(inner)
        return pa.dictionary(pa.uint32(), kind), nullable
    if outer == "Array":
        return pa.list_(pa.field("item", _canonical(inner)[0], nullable=False)), False
    if outer == "Map":
        key, _, value = inner.partition(", ")
        return pa.map_(_canonical(key)[0], pa.field("value", _canonical(value)[0], nullable=False)), False
    raise ValueError(f"no Arrow type for {clickhouse}")


def is_readable_as(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether every value of the one type is a value of the other, so that a cast can neither fail nor lose."""
    given, wanted = _value_type(given), _value_type(wanted)
    if given.equals(wanted):
        return True
    if _is_text(wanted):
        return _is_text(given)
    if pa.types.is_integer(wanted):
        return pa.types.is_integer(given) and _fits(given, wanted)
    if pa.types.is_floating(wanted):
        return bool(pa.types.is_floating(given) and given.bit_width <= wanted.bit_width)
    if pa.types.is_map(wanted):
        return bool(
            pa.types.is_map(given)
            and is_readable_as(given.key_type, wanted.key_type)
            and is_readable_as(given.item_type, wanted.item_type)
        )
    if pa.types.is_list(wanted):
        is_list = pa.types.is_list(given) or pa.types.is_large_list(given)
        return bool(is_list and is_readable_as(given.value_type, wanted.value_type))
    return False


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_bytes(kind))


def _fits(given: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_signed_integer(given):
        return bool(pa.types.is_signed_integer(wanted) and given.bit_width <= wanted.bit_width)
    if pa.types.is_signed_integer(wanted):
        return bool(given.bit_width < wanted.bit_width)
    return bool(given.bit_width <= wanted.bit_width)


def common(given: Sequence[pa.DataType], wanted: pa.DataType) -> pa.DataType:
    """The one type to which columns of these types are brought: theirs where they agree, else wide enough for all."""
    if all(kind.equals(given[0]) for kind in given):
        return given[0]
    if all(pa.types.is_dictionary(kind) for kind in given):
        return pa.dictionary(pa.uint32(), common([kind.value_type for kind in given], _value_type(wanted)))
    plain, wanted = [_value_type(kind) for kind in given], _value_type(wanted)
    if _is_text(wanted):
        return pa.binary() if any(_is_bytes(kind) for kind in plain) else pa.string()
    if pa.types.is_map(wanted):
        return pa.map_(
            common([kind.key_type for kind in plain], wanted.key_type),
            pa.field("value", common([kind.item_type for kind in plain], wanted.item_type), nullable=False),
        )
    if pa.types.is_list(wanted):
        value = common([kind.value_type for kind in plain], wanted.value_type)
        return pa.list_(pa.field("item", value, nullable=False))
    return wanted


def widest(given: Sequence[pa.DataType]) -> pa.DataType:
    """As `common`, of a column that our catalogue does not know; ValueError where they have no type in common."""
    plain = [_value_type(kind) for kind in given]
    if all(_is_text(kind) for kind in plain):
        return common(given, pa.string())
    if all(pa.types.is_integer(kind) for kind in plain):
        return common(given, pa.int64() if any(pa.types.is_signed_integer(kind) for kind in plain) else pa.uint64())
    if all(pa.types.is_floating(kind) for kind in plain):
        return common(given, pa.float64())
    if all(kind.equals(plain[0]) for kind in plain):
        return common(given, plain[0])
    raise ValueError(f"no type has the values of {', '.join(map(str, dict.fromkeys(plain)))}")


def has_nulls_inside(column: pa.Array) -> bool:
    """Whether a list, a map or a dictionary holds a null; the column's own nulls do not count."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return bool(column.dictionary.null_count) or has_nulls_inside(column.dictionary)
    inner: list[pa.Array] = []
    if pa.types.is_map(kind):
        inner = [column.keys, column.items]
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = [column.values]
    return any(each.null_count or has_nulls_inside(each) for each in inner)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
