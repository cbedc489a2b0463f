//go:build before_0_45

package main

import (
	"context"
	"net/http"
	"sync"

	"github.com/quic-go/quic-go"
)

// kept has the client's first destination connection id of each connection, by quic-go's own number of it. Nothing is
// taken out again: this server ends soon.
var kept sync.Map

// makeRoom does nothing: there is no context before the tracer is asked.
func makeRoom(*quic.Transport) {}

func keep(ctx context.Context, id quic.ConnectionID) {
	kept.Store(ctx.Value(quic.ConnectionTracingKey), id)
}

// connectionID is what was kept of a request's connection.
func connectionID(writer http.ResponseWriter, request *http.Request) (quic.ConnectionID, bool) {
	found, ok := kept.Load(connectionContext(writer, request).Value(quic.ConnectionTracingKey))
	if !ok {
		return quic.ConnectionID{}, false
	}
	return found.(quic.ConnectionID), true
}
