#!/bin/sh
# The service ends with its program; an upgrade ($1: "upgrade" of dpkg, 1 of rpm) leaves it running.
set -e
case "$1" in
upgrade | 1) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
    systemctl disable --now quiclens-collector.service
fi
