//go:build before_0_56

package main

import (
	"context"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/logging"
)

// tracer is quic-go's own for a share of the connections; it also keeps the connection's id.
func tracer(share float64) func(context.Context, logging.Perspective, quic.ConnectionID) *logging.ConnectionTracer {
	return func(ctx context.Context, perspective logging.Perspective, id quic.ConnectionID) *logging.ConnectionTracer {
		keep(ctx, id)
		if !isLogged(id, share) {
			return nil
		}
		return ownTracer(ctx, perspective, id)
	}
}
