//go:build before_0_52 && !before_0_45

package main

import "github.com/quic-go/quic-go"

func makeRoom(transport *quic.Transport) { transport.ConnContext = withRoom }
