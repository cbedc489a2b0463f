// A real HTTP/3 server of quic-go on loopback, whose logs grow while it serves: `server -out DIR -certificate PEM -key PEM`.
// It prints {"port":N}, answers GET /<bytes>/<think in us>, and ends on SIGTERM. -log-share 0.01 gives one connection in
// a hundred a qlog. What differs between versions of quic-go stands in files with build tags, before_0_65 and such; the
// Makefile gives them to each version of ../../versions.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
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
)

func main() {
	out := flag.String("out", "", "folder of traces/ and access.jsonl")
	certificate := flag.String("certificate", "", "PEM file")
	key := flag.String("key", "", "PEM file")
	share := flag.Float64("log-share", 1, "of the connections have a qlog")
	flag.Parse()
	if err := serve(*out, *certificate, *key, *share); err != nil {
		fmt.Fprintln(os.Stderr, "quic-go server:", err)
		os.Exit(1)
	}
}

func serve(out, certificate, key string, share float64) error {
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
	transport := &quic.Transport{Conn: socket}
	makeRoom(transport)
	listener, err := transport.ListenEarly(
		http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{pair}}),
		&quic.Config{Tracer: tracer(share)},
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

// isLogged chooses connections by a hash of their id.
func isLogged(id quic.ConnectionID, share float64) bool {
	sum := sha256.Sum256(id.Bytes())
	return float64(binary.BigEndian.Uint32(sum[:4]))/(1<<32) < share
}
