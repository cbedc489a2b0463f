#!/bin/sh
exec java ${KAFKA_HEAP_OPTS-} -cp '/opt/kafka/libs/*' kafka.admin.ConfigCommand "$@"
