package quicgo

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// logged is one event of a log, with the fields that the tests look at.
type logged struct {
	Time float64 // milliseconds
	Name string
	Data struct {
		Header struct {
			PacketType string `json:"packet_type"`
		}
		Raw       struct{ Length int }
		Frames    []loggedFrame
		EventType string `json:"event_type"`
		TimerType string `json:"timer_type"`
		StreamID  int64  `json:"stream_id"`
		Frame     struct {
			FrameType string `json:"frame_type"`
			Headers   []struct{ Name, Value string }
		}
		CongestionWindow int     `json:"congestion_window"`
		LatestRTT        float64 `json:"latest_rtt"`
		MinRTT           float64 `json:"min_rtt"`
	}
}

type loggedFrame struct {
	FrameType string `json:"frame_type"`
	StreamID  int64  `json:"stream_id"`
	Offset    int64
	Length    int64
	Fin       bool
}

// serverLog is what a run left behind at the server.
type serverLog []logged

func readServerLog(t *testing.T, folder string) serverLog {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, "server.sqlog"))
	if err != nil {
		t.Fatal(err)
	}
	var log serverLog
	for _, record := range bytes.Split(content, []byte{recordSeparator})[2:] { // before the first, and the header
		var event logged
		if err := json.Unmarshal(record, &event); err != nil {
			t.Fatalf("%s: %v", record, err)
		}
		log = append(log, event)
	}
	return log
}

// named are the events of this name.
func (l serverLog) named(name string) serverLog {
	return l.where(func(event logged) bool { return event.Name == name })
}

func (l serverLog) where(isWanted func(logged) bool) serverLog {
	var found serverLog
	for _, event := range l {
		if isWanted(event) {
			found = append(found, event)
		}
	}
	return found
}

// with are the packets of this event that hold a frame of this type on this stream; the control frames are on none: -1.
func (l serverLog) with(name, frameType string, streamID int64) serverLog {
	return l.named(name).where(func(event logged) bool {
		for _, frame := range event.Data.Frames {
			if frame.FrameType == frameType && (streamID < 0 || frame.StreamID == streamID) {
				return true
			}
		}
		return false
	})
}

// longestGap is the longest time between two of the events.
func (l serverLog) longestGap() (longest float64) {
	for number := 1; number < len(l); number++ {
		longest = max(longest, l[number].Time-l[number-1].Time)
	}
	return longest
}

// targetStream is the stream on which /target was asked for.
func (l serverLog) targetStream() int64 {
	for _, event := range l.named("http3:frame_parsed") {
		for _, field := range event.Data.Frame.Headers {
			if field.Name == ":path" && strings.HasSuffix(field.Value, "/target") {
				return event.Data.StreamID
			}
		}
	}
	return -1
}
