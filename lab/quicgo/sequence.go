//go:build !before_0_65

package quicgo

import (
	"io"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlogwriter"
)

func newSequence(file io.WriteCloser, isClient bool, connectionID quic.ConnectionID) *qlogwriter.FileSeq {
	return qlogwriter.NewConnectionFileSeq(file, isClient, connectionID)
}
