package quicgo

import (
	"fmt"
	"sync"
	"time"

	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// aim finds the packets that strikes are meant for. It reads the server's events as they are made, which is before the
// datagram reaches the network: the packets in flight are in the order of the events.
type aim struct {
	mutex   sync.Mutex
	strikes []Strike
	isOpen  bool
	highest map[int64]int64 // per stream, the end of what was sent
	sent    []aimed
	dark    []stretch
}

// aimed is one packet that the server has made and the network has not seen.
type aimed struct {
	bytes int
	isHit bool
	dark  time.Duration
}

// stretch is a span of time, its start included and its end not.
type stretch struct{ start, end time.Time }

func newAim(strikes []Strike) *aim {
	return &aim{strikes: append([]Strike(nil), strikes...), highest: map[int64]int64{}}
}

// open begins the watch. It must not be called before the handshake is over: then one datagram is one packet.
func (a *aim) open() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.isOpen = len(a.strikes) > 0
}

// see judges one event of the server.
func (a *aim) see(event qlogwriter.Event) {
	packet, isSent := event.(qlog.PacketSent)
	if !isSent {
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if !a.isOpen {
		return
	}
	made := aimed{bytes: packet.Raw.Length}
	for _, frame := range packet.Frames {
		stream, isStream := frame.Frame.(*qlog.StreamFrame)
		if !isStream {
			continue
		}
		streamID, end := int64(stream.StreamID), stream.Offset+stream.Length
		if stream.Fin {
			end++ // the end of the stream counts as a byte
		}
		if end <= a.highest[streamID] {
			continue
		}
		a.highest[streamID] = end
		for number := range a.strikes {
			strike := &a.strikes[number]
			if strike.StreamID != streamID || end <= strike.FromByte {
				continue
			}
			if strike.Packets > 0 {
				strike.Packets--
				made.isHit = true
			}
			made.dark += strike.Dark
			strike.Dark = 0
		}
	}
	a.sent = append(a.sent, made)
}

// next says whether the network is to lose this datagram of the server.
func (a *aim) next(datagram []byte, departs time.Time) (bool, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if len(a.sent) == 0 {
		if a.isOpen && len(datagram) > 0 {
			return false, fmt.Errorf("a datagram of %d bytes that the server's log does not have", len(datagram))
		}
		return false, nil
	}
	packet := a.sent[0]
	a.sent = a.sent[1:]
	if packet.bytes != len(datagram) {
		return false, fmt.Errorf("the log has a packet of %d bytes, the network one of %d", packet.bytes, len(datagram))
	}
	if packet.dark > 0 {
		a.dark = append(a.dark, stretch{departs, departs.Add(packet.dark)})
		return true, nil
	}
	return packet.isHit, nil
}

// isDark says whether nothing gets through at this time.
func (a *aim) isDark(departs time.Time) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, each := range a.dark {
		if !departs.Before(each.start) && departs.Before(each.end) {
			return true
		}
	}
	return false
}
