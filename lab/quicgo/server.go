package quicgo

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// body is what all responses and uploads are made of.
var body = make([]byte, 2<<20)

// paths says which request stands behind which path.
func paths(plan Plan) map[string]Request {
	all := map[string]Request{"/warm-up": plan.WarmUp, "/target": plan.Target}
	for number, other := range plan.Others {
		all[otherPath(number)] = other
	}
	return all
}

func otherPath(number int) string { return fmt.Sprintf("/other/%d", number) }

// server is the far end: an HTTP/3 server that does what the plan says.
type server struct {
	http     *http3.Server
	quic     *quic.Transport
	requests map[string]Request
	aim      *aim
	fail     func(error)
	done     chan struct{}
}

func startServer(run *run, socket net.PacketConn, trace *tracer) (*server, error) {
	s := &server{requests: paths(run.plan), aim: run.network.aim, fail: run.fail, done: make(chan struct{})}
	s.quic = &quic.Transport{Conn: socket}
	listener, err := s.quic.ListenEarly(http3.ConfigureTLSConfig(run.serverTLS), &quic.Config{
		DisablePathMTUDiscovery: true,
		Allow0RTT:               run.plan.ZeroRTT != nil,
		Tracer:                  trace.trace,
	})
	if err != nil {
		return nil, err
	}
	s.http = &http3.Server{Handler: s}
	go func() {
		defer close(s.done)
		_ = s.http.ServeListener(listener) // ends with ErrServerClosed, always
	}()
	return s, nil
}

// ServeHTTP reads the whole request, thinks, answers.
func (s *server) ServeHTTP(writer http.ResponseWriter, incoming *http.Request) {
	request, isKnown := s.requests[incoming.URL.Path]
	if !isKnown {
		s.fail(fmt.Errorf("a request for %s, which is not in the plan", incoming.URL.Path))
		return
	}
	if _, err := io.Copy(io.Discard, incoming.Body); err != nil {
		s.fail(fmt.Errorf("read %s: %w", incoming.URL.Path, err))
		return
	}
	time.Sleep(request.Think)
	s.aim.open()
	if err := answer(writer, request); err != nil {
		s.fail(fmt.Errorf("answer %s: %w", incoming.URL.Path, err))
	}
}

func answer(writer http.ResponseWriter, request Request) error {
	// One field only: quic-go writes several in the random order of a map.
	header := writer.Header()
	header["Date"], header["Content-Type"] = nil, nil
	header.Set("Content-Length", fmt.Sprint(request.ResponseBytes))
	left, piece := request.ResponseBytes, request.PieceBytes
	if piece == 0 {
		piece = left
	}
	for left > 0 {
		size := min(left, piece)
		if _, err := writer.Write(body[:size]); err != nil {
			return err
		}
		left -= size
		if left > 0 {
			if err := http.NewResponseController(writer).Flush(); err != nil {
				return err
			}
			time.Sleep(request.PieceGap)
		}
	}
	return nil
}

func (s *server) close() error {
	if err := s.http.Close(); err != nil {
		return err
	}
	<-s.done
	return s.quic.Close()
}
