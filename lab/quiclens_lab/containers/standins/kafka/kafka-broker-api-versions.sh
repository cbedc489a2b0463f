#!/bin/bash
# The jar of Kafka's tools is not among those of a broker: whether it listens is what can be asked.
address=${2:?}
exec 3<>"/dev/tcp/${address%:*}/${address#*:}"
