"""ClickHouse types of the catalogue as Arrow types: the one form to which a block's batches are brought.

Collectors send what is narrowest: `uint32` where no value of the batch needs more, dictionaries where few values
repeat, no column at all where no row has a value. So batches of one table differ, and only their common form is fixed.
"""

from collections.abc import Sequence

import pyarrow as pa
from quiclens_schema.arrow_values import is_bytes, is_text, plain_text_bytes

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
_DEEPEST = 2  # a list of maps, say
_OFFSET_BYTES = 4  # of a text in a plain column


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
    if pa.types.is_dictionary(given) and pa.types.is_nested(given.value_type):
        return False
    given, wanted = _value_type(given), _value_type(wanted)
    if given.equals(wanted):
        return True
    if is_text(wanted):
        return is_text(given)
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


def is_of_a_catalogue(kind: pa.DataType, depth: int = 0) -> bool:
    """Whether a newer catalogue may have columns of this type: a kind of text, number or time that ours could have,
    or lists and maps of those, as deep as `_DEEPEST`. Of others, pyarrow may have no arrays."""
    if pa.types.is_dictionary(kind):
        return is_of_a_catalogue(kind.value_type, depth) and not pa.types.is_nested(kind.value_type)
    if depth < _DEEPEST and (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return is_of_a_catalogue(kind.value_type, depth + 1)
    if depth < _DEEPEST and pa.types.is_map(kind):
        return all(is_of_a_catalogue(each, depth + 1) for each in (kind.key_type, kind.item_type))
    is_number = pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    is_time = pa.types.is_date32(kind) or pa.types.is_timestamp(kind)
    return bool(is_text(kind) or is_number or is_time or pa.types.is_boolean(kind))


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


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
    if is_text(wanted):
        return pa.binary() if any(is_bytes(kind) for kind in plain) else pa.string()
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
    if all(is_text(kind) for kind in plain):
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


def growth(column: pa.Array) -> int:
    """Bytes that a column takes more once its dictionaries are plain, as they are when another batch has it plain; they
    are counted, not made."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return max(0, _plain_bytes(column) - int(column.get_total_buffer_size()))
    if pa.types.is_map(kind):
        return growth(column.keys) + growth(column.items)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return growth(column.values)
    return 0


def _plain_bytes(column: pa.DictionaryArray) -> int:
    kind = column.type.value_type
    if not is_text(kind):
        return int(len(column) * kind.bit_width // 8)
    return plain_text_bytes(column) + _OFFSET_BYTES * len(column)
