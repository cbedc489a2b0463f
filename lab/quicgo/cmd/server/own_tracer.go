//go:build !before_0_65 || (before_0_56 && !before_0_45)

package main

import "github.com/quic-go/quic-go/qlog"

var ownTracer = qlog.DefaultConnectionTracer
