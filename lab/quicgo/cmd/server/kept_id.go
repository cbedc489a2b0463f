//go:build !before_0_45

package main

import (
	"context"
	"net/http"

	"github.com/quic-go/quic-go"
)

type connectionIDKey struct{}

// withRoom is a connection's context that can hold the id that quic-go tells the tracer alone; every request inherits it.
func withRoom(ctx context.Context) context.Context {
	return context.WithValue(ctx, connectionIDKey{}, new(quic.ConnectionID))
}

// keep is told the client's first destination connection id, with the context of its connection.
func keep(ctx context.Context, id quic.ConnectionID) {
	if kept, ok := ctx.Value(connectionIDKey{}).(*quic.ConnectionID); ok {
		*kept = id
	}
}

// connectionID is what was kept of a request's connection.
func connectionID(_ http.ResponseWriter, request *http.Request) (quic.ConnectionID, bool) {
	id, ok := request.Context().Value(connectionIDKey{}).(*quic.ConnectionID)
	if !ok {
		return quic.ConnectionID{}, false
	}
	return *id, true
}
