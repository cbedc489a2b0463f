"""A producer that puts a header with any bytes as its name on a topic, which Python's client cannot: by the C library
inside it."""

import ctypes
from pathlib import Path

import confluent_kafka

_PRODUCER, _COPY = 0, 2  # rd_kafka_type_t, RD_KAFKA_MSG_F_COPY
_END, _TOPIC, _PARTITION, _VALUE, _FLAGS, _HEADERS = 0, 1, 3, 4, 7, 10  # rd_kafka_vtype_t
_ERROR_BYTES = 512


def send(brokers: str, topic: str, value: bytes, headers: dict[bytes, bytes]) -> None:
    """Put one message on partition 0 of a topic."""
    beside = Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs"
    kafka = ctypes.CDLL(str(next(beside.glob("librdkafka-*"))))
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_headers_new"):
        getattr(kafka, name).restype = ctypes.c_void_p
    size, said = ctypes.c_size_t, ctypes.create_string_buffer(_ERROR_BYTES)
    settings = ctypes.c_void_p(kafka.rd_kafka_conf_new())
    assert not kafka.rd_kafka_conf_set(settings, b"bootstrap.servers", brokers.encode(), said, size(_ERROR_BYTES))
    client = ctypes.c_void_p(kafka.rd_kafka_new(_PRODUCER, settings, said, size(_ERROR_BYTES)))
    assert client.value, said.value
    listed = ctypes.c_void_p(kafka.rd_kafka_headers_new(size(len(headers))))
    for key, text in headers.items():
        kafka.rd_kafka_header_add(listed, key, ctypes.c_ssize_t(len(key)), text, ctypes.c_ssize_t(len(text)))
    where = (_TOPIC, topic.encode(), _PARTITION, 0, _FLAGS, _COPY)
    assert not kafka.rd_kafka_producev(client, *where, _VALUE, value, size(len(value)), _HEADERS, listed, _END)
    assert not kafka.rd_kafka_flush(client, 30_000)
    kafka.rd_kafka_destroy(client)
