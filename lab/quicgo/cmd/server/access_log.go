package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// line has the columns of request_lines that this server knows.
type line struct {
	Time          string `json:"time"`
	TimeIs        string `json:"time_is"`
	Method        string `json:"method"`
	Authority     string `json:"authority"`
	Path          string `json:"path"`
	Status        int    `json:"status"`
	DurationUs    int64  `json:"duration_us"`
	ResponseBytes int64  `json:"response_bytes"`
	Protocol      string `json:"protocol"`
	ConnectionID  string `json:"connection_id,omitempty"`
	StreamID      *int64 `json:"stream_id,omitempty"`
	ExternalID    string `json:"external_id,omitempty"`
	Server        string `json:"server"`
}

// accessLog is one JSON object a line; handlers write to it from several goroutines.
type accessLog struct {
	mutex sync.Mutex
	file  *os.File
}

func openAccessLog(path string) (*accessLog, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	return &accessLog{file: file}, err
}

func (l *accessLog) write(made line) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err := json.NewEncoder(l.file).Encode(made); err != nil {
		fmt.Fprintln(os.Stderr, "quic-go server: access log:", err)
	}
}

func (l *accessLog) close() { _ = l.file.Close() }
