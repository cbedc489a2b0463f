//go:build before_0_65

package quicgo

import (
	"io"

	"github.com/quic-go/quic-go"
	http3qlog "github.com/quic-go/quic-go/http3/qlog"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// newSequence names the schemas of its events, which the header lists; from 0.65 on the writer does so by itself.
func newSequence(file io.WriteCloser, isClient bool, connectionID quic.ConnectionID) *qlogwriter.FileSeq {
	return qlogwriter.NewConnectionFileSeq(file, isClient, connectionID, []string{qlog.EventSchema, http3qlog.EventSchema})
}
