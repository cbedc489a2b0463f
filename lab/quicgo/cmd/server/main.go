// A real HTTP/3 server of quic-go on loopback, whose logs grow while it serves: `server -out DIR -certificate PEM -key PEM`.
// It prints {"port":N}, answers GET /<bytes>/<think in us>, and ends on SIGTERM.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

func main() {
	out := flag.String("out", "", "folder of traces/ and access.jsonl")
	certificate := flag.String("certificate", "", "PEM file")
	key := flag.String("key", "", "PEM file")
	flag.Parse()
	if err := serve(*out, *certificate, *key); err != nil {
		fmt.Fprintln(os.Stderr, "quic-go server:", err)
		os.Exit(1)
	}
}

func serve(out, certificate, key string) error {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	// Where quic-go's own tracer writes; it makes the folder.
	if err := os.Setenv("QLOGDIR", filepath.Join(out, "traces")); err != nil {
		return err
	}
	log, err := openAccessLog(filepath.Join(out, "access.jsonl"))
	if err != nil {
		return err
	}
	defer log.close()
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: socket, ConnContext: withConnectionID}
	listener, err := transport.ListenEarly(
		http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{pair}}),
		&quic.Config{Tracer: trace},
	)
	if err != nil {
		return err
	}
	fmt.Printf("{\"port\":%d}\n", socket.LocalAddr().(*net.UDPAddr).Port)
	server := &http3.Server{Handler: &application{log: log}}
	terminated, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		<-terminated.Done()
		_ = server.Close()
	}()
	if err := server.ServeListener(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return errors.Join(listener.Close(), transport.Close())
}

type connectionIDKey struct{}

// withConnectionID makes room for the id that quic-go tells the tracer alone.
func withConnectionID(ctx context.Context, _ *quic.ClientInfo) (context.Context, error) {
	return context.WithValue(ctx, connectionIDKey{}, new(quic.ConnectionID)), nil
}

// connectionID is the client's first destination connection id, kept by trace.
func connectionID(ctx context.Context) (quic.ConnectionID, bool) {
	id, ok := ctx.Value(connectionIDKey{}).(*quic.ConnectionID)
	if !ok {
		return quic.ConnectionID{}, false
	}
	return *id, true
}

// trace is quic-go's own tracer; it also keeps the id in the connection's context, which every request inherits.
func trace(ctx context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
	if kept, ok := ctx.Value(connectionIDKey{}).(*quic.ConnectionID); ok {
		*kept = id
	}
	return qlog.DefaultConnectionTracer(ctx, isClient, id)
}
