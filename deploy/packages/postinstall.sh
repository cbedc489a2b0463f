#!/bin/sh
# The unit's user, and systemd's knowledge of the unit, where there is a systemd. A collector that runs is started again.
set -e
if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers quiclens.conf
fi
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl try-restart quiclens-collector.service
fi
