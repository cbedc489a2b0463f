//go:build before_0_43

package main

import (
	"context"
	"net/http"

	"github.com/quic-go/quic-go/http3"
)

// connectionContext asks the connection itself: the context of its requests does not come from it.
func connectionContext(writer http.ResponseWriter, _ *http.Request) context.Context {
	return writer.(http3.Hijacker).StreamCreator().Context()
}
