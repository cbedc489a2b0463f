//go:build !before_0_52

package main

import (
	"context"

	"github.com/quic-go/quic-go"
)

func makeRoom(transport *quic.Transport) {
	transport.ConnContext = func(ctx context.Context, _ *quic.ClientInfo) (context.Context, error) {
		return withRoom(ctx), nil
	}
}
