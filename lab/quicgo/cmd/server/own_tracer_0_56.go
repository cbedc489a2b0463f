//go:build before_0_65 && !before_0_56

package main

import "github.com/quic-go/quic-go/http3/qlog"

var ownTracer = qlog.DefaultConnectionTracer
