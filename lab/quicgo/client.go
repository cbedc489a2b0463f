package quicgo

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

const gapBeforeTarget = 300 * time.Millisecond

// client is the near end.
type client struct {
	quic   *quic.Transport
	tls    *tls.Config
	config *quic.Config
	server net.Addr
	plan   Plan
}

func newClient(run *run, socket net.PacketConn, server net.Addr, trace *tracer) *client {
	c := &client{quic: &quic.Transport{Conn: socket}, tls: run.clientTLS.Clone(), server: server, plan: run.plan}
	c.config = &quic.Config{
		DisablePathMTUDiscovery:        true,
		Tracer:                         trace.trace,
		InitialStreamReceiveWindow:     run.plan.Limits.StreamBytes,
		MaxStreamReceiveWindow:         run.plan.Limits.StreamBytes,
		InitialConnectionReceiveWindow: run.plan.Limits.ConnectionBytes,
		MaxConnectionReceiveWindow:     run.plan.Limits.ConnectionBytes,
	}
	if run.plan.ZeroRTT != nil {
		c.tls.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		if run.plan.ZeroRTT.HasToken {
			c.config.TokenStore = quic.NewLRUTokenStore(1, 1)
		}
	}
	return c
}

// dial makes a connection; an early one does not wait for the handshake when there is a session to resume.
func (c *client) dial(ctx context.Context, isEarly bool) (*http3.ClientConn, error) {
	dial := c.quic.Dial
	if isEarly {
		dial = c.quic.DialEarly
	}
	connection, err := dial(ctx, c.server, c.tls, c.config)
	if err != nil {
		return nil, err
	}
	return (&http3.Transport{DisableCompression: true}).NewClientConn(connection), nil
}

// fetch makes one request and reads the whole response.
func fetch(ctx context.Context, connection *http3.ClientConn, path string, request Request, method string) error {
	outgoing, err := http.NewRequestWithContext(ctx, method, "https://"+authority+path, nil)
	if err != nil {
		return err
	}
	if request.RequestBytes > 0 {
		outgoing.Method, outgoing.ContentLength = http.MethodPost, int64(request.RequestBytes)
		outgoing.Body = io.NopCloser(bytes.NewReader(body[:request.RequestBytes]))
	}
	response, err := connection.RoundTrip(outgoing)
	if err != nil {
		return fmt.Errorf("ask for %s: %w", path, err)
	}
	defer response.Body.Close()
	received, err := io.Copy(io.Discard, response.Body)
	if err != nil {
		return fmt.Errorf("response to %s: %w", path, err)
	}
	if received != int64(request.ResponseBytes) {
		return fmt.Errorf("response to %s: %d bytes of %d", path, received, request.ResponseBytes)
	}
	return nil
}

// target asks for the target and a moment later for the others: the first to be asked has the lowest stream. It returns
// how long the target took, when all is answered.
func (c *client) target(ctx context.Context, connection *http3.ClientConn) (took time.Duration, err error) {
	method := http.MethodGet
	if c.plan.ZeroRTT != nil {
		method = http3.MethodGet0RTT
	}
	finished := make(chan error, 1+len(c.plan.Others))
	go func() {
		started := time.Now()
		err := fetch(ctx, connection, "/target", c.plan.Target, method)
		took = time.Since(started)
		finished <- err
	}()
	for number, request := range c.plan.Others {
		time.Sleep(time.Microsecond)
		go func() { finished <- fetch(ctx, connection, otherPath(number), request, method) }()
	}
	for range cap(finished) {
		err = errors.Join(err, <-finished)
	}
	return took, err
}
