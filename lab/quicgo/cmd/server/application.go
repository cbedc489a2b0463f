package main

import (
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/quic-go/quic-go"
)

// application answers /<bytes>/<think in us> and writes a line of the access log.
type application struct{ log *accessLog }

func (a *application) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	began := time.Now()
	var size, think int64
	if _, err := fmt.Sscanf(request.URL.Path, "/%d/%d", &size, &think); err != nil {
		http.Error(writer, "want /<bytes>/<think in us>", http.StatusBadRequest)
		return
	}
	time.Sleep(time.Duration(think) * time.Microsecond)
	writer.Header().Set("Content-Length", fmt.Sprint(size))
	if _, err := writer.Write(make([]byte, size)); err != nil {
		fmt.Fprintln(os.Stderr, "quic-go server:", err)
		return
	}
	a.log.write(lineOf(request, began, size))
}

func lineOf(request *http.Request, began time.Time, size int64) line {
	made := line{
		Time:          began.UTC().Format(time.RFC3339Nano),
		TimeIs:        "start",
		Method:        request.Method,
		Authority:     request.Host,
		Path:          request.URL.Path,
		Status:        http.StatusOK,
		DurationUs:    time.Since(began).Microseconds(),
		ResponseBytes: size,
		Protocol:      "h3",
		ExternalID:    request.Header.Get("x-request-id"),
		Server:        "edge-quic-go-01",
	}
	if id, ok := connectionID(request.Context()); ok {
		made.ConnectionID = id.String()
	}
	if body, ok := request.Body.(interface{ StreamID() quic.StreamID }); ok {
		stream := int64(body.StreamID())
		made.StreamID = &stream
	}
	return made
}
