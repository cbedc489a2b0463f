package main

import (
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
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
	a.log.write(lineOf(writer, request, began, size))
}

func lineOf(writer http.ResponseWriter, request *http.Request, began time.Time, size int64) line {
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
		Server:        name,
	}
	if id, ok := connectionID(writer, request); ok {
		made.ConnectionID = id.String()
	}
	if body, ok := request.Body.(interface{ StreamID() quic.StreamID }); ok {
		stream := int64(body.StreamID())
		made.StreamID = &stream
	}
	return made
}

// name is this server's, with the version of quic-go that it is built with: edge-quic-go-v0.65.0.
var name = "edge-quic-go-" + version()

func version() string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "github.com/quic-go/quic-go" {
				return module.Version
			}
		}
	}
	return "unknown"
}
