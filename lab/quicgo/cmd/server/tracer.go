//go:build !before_0_56

package main

import (
	"context"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlogwriter"
)

// tracer is quic-go's own for a share of the connections; it also keeps the connection's id.
func tracer(share float64) func(context.Context, bool, quic.ConnectionID) qlogwriter.Trace {
	return func(ctx context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
		keep(ctx, id)
		if !isLogged(id, share) {
			return nil
		}
		return ownTracer(ctx, isClient, id)
	}
}
