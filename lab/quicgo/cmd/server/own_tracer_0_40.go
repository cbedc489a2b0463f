//go:build before_0_41

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/logging"
	"github.com/quic-go/quic-go/qlog"
)

// ownTracer opens the file itself: there is no default one yet.
func ownTracer(_ context.Context, perspective logging.Perspective, id quic.ConnectionID) *logging.ConnectionTracer {
	folder := os.Getenv("QLOGDIR")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, "quic-go server:", err)
		return nil
	}
	file, err := os.Create(filepath.Join(folder, id.String()+"_server.qlog"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "quic-go server:", err)
		return nil
	}
	return qlog.NewConnectionTracer(file, perspective, id)
}
