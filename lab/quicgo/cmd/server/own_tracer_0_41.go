//go:build before_0_45 && !before_0_41

package main

import "github.com/quic-go/quic-go/qlog"

var ownTracer = qlog.DefaultTracer
