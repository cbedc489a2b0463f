package quicgo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

const (
	recordSeparator = 0x1e
	tailBytes       = 64 << 10
)

// checkSpan compares the time of a log's last event with the moments at which its connection may have ended on the path.
func checkSpan(path string, first time.Time, ends []time.Time) error {
	record, err := lastRecord(path)
	if err != nil {
		return err
	}
	var event struct{ Time float64 }
	if err := json.Unmarshal(record, &event); err != nil {
		return fmt.Errorf("%s: last record: %w", path, err)
	}
	span := time.Duration(event.Time * float64(time.Millisecond))
	for _, end := range ends {
		if (span - end.Sub(first)).Abs() <= time.Millisecond {
			return nil
		}
	}
	return fmt.Errorf("%s spans %v, and nothing happened then; its connection began at %v and closed at %v", path, span, first, ends)
}

func lastRecord(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, about.Size()-tailBytes)
	tail := make([]byte, about.Size()-from)
	if _, err := file.ReadAt(tail, from); err != nil {
		return nil, err
	}
	start := bytes.LastIndexByte(tail, recordSeparator)
	if start < 0 {
		return nil, fmt.Errorf("%s: no record in its last %d bytes", path, len(tail))
	}
	return tail[start+1:], nil
}
