package quicgo

import (
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go/testutils/simnet"
)

const (
	ipUDPHeaderBytes = 28
	// jitter keeps two things from happening at one instant, in an order that only the Go scheduler knows: without it
	// acknowledgements of paced packets come back just when the pacer's timer fires.
	jitter = 20 * time.Microsecond
)

// LinkSpec is one direction of a path: a bottleneck of a rate with a queue that drops its tail, then a delay.
type LinkSpec struct {
	BitsPerSecond int64
	Delay         time.Duration
	QueueBytes    int64
}

// Traffic is what one direction carried, on the virtual clock.
type Traffic struct {
	Packets int
	Lost    int
	First   time.Time // sent, whether it arrived or not
	Last    time.Time
	// ArrivedFirst and ArrivedLast leave lost packets out.
	ArrivedFirst time.Time
	ArrivedLast  time.Time
}

// link is one direction in use.
type link struct {
	spec        LinkSpec
	name        string
	seed        int
	busyUntil   time.Time
	lastArrival time.Time
	traffic     Traffic
}

// depart takes a datagram and says when it has left the bottleneck, or false when the queue is full.
func (l *link) depart(now time.Time, payloadBytes int) (time.Time, bool) {
	size := int64(payloadBytes + ipUDPHeaderBytes)
	starts := now
	if l.busyUntil.After(now) {
		starts = l.busyUntil
	}
	waiting := int64(starts.Sub(now)) * l.spec.BitsPerSecond / 8 / int64(time.Second)
	if waiting+size > l.spec.QueueBytes {
		return time.Time{}, false
	}
	l.busyUntil = starts.Add(time.Duration(size * 8 * int64(time.Second) / l.spec.BitsPerSecond))
	return l.busyUntil, true
}

// arrive says when a datagram that has left the bottleneck is there. Datagrams keep their order.
func (l *link) arrive(departs time.Time) time.Time {
	draw := fraction(l.seed, fmt.Sprintf("jitter %s %d", l.name, departs.UnixNano()))
	arrives := departs.Add(l.spec.Delay + time.Duration(draw*float64(jitter)))
	if !arrives.After(l.lastArrival) {
		arrives = l.lastArrival.Add(time.Nanosecond)
	}
	l.lastArrival = arrives
	return arrives
}

// network is the simulated path between one client and one server, a simnet.Router.
type network struct {
	simnet.PerfectRouter
	mutex      sync.Mutex
	up, down   link
	server     string
	aim        *aim
	lostFlight time.Duration
	flightEnds time.Time
	failure    error
}

func newNetwork(plan Plan, server net.Addr) *network {
	n := &network{
		up:     link{spec: plan.Up, name: "up", seed: plan.Seed},
		down:   link{spec: plan.Down, name: "down", seed: plan.Seed},
		server: server.String(),
		aim:    newAim(plan.Strikes),
	}
	if plan.ZeroRTT != nil {
		n.lostFlight = plan.ZeroRTT.LostFlight
	}
	return n
}

// forget begins a new count of traffic: what came before belongs to a connection that is not judged.
func (n *network) forget() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.up.traffic, n.down.traffic, n.flightEnds = Traffic{}, Traffic{}, time.Time{}
}

// SendPacket takes one datagram. A lost one is no error: its sender cannot know.
func (n *network) SendPacket(packet simnet.Packet) error {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	now := time.Now()
	isUp := packet.To.String() == n.server
	direction := &n.down
	if isUp {
		direction = &n.up
	}
	traffic := &direction.traffic
	if traffic.Packets == 0 {
		traffic.First = now
	}
	traffic.Packets++
	traffic.Last = now

	departs, hasRoom := direction.depart(now, len(packet.Data))
	isLost := !hasRoom || n.aim.isDark(departs)
	if !isUp {
		isHit, err := n.aim.next(packet.Data, departs)
		if err != nil && n.failure == nil {
			n.failure = err
		}
		isLost = isLost || isHit
	} else if n.lostFlight > 0 && now.Before(n.flightEnds) {
		isLost = true
	}
	if isLost {
		traffic.Lost++
		return nil
	}
	time.AfterFunc(direction.arrive(departs).Sub(now), func() { n.deliver(packet, direction, isUp) })
	return nil
}

func (n *network) deliver(packet simnet.Packet, direction *link, isUp bool) {
	n.mutex.Lock()
	now := time.Now()
	if direction.traffic.ArrivedFirst.IsZero() {
		direction.traffic.ArrivedFirst = now
		if !isUp {
			n.flightEnds = now.Add(n.lostFlight)
		}
	}
	direction.traffic.ArrivedLast = now
	n.mutex.Unlock()
	if err := n.PerfectRouter.SendPacket(packet); err != nil {
		n.mutex.Lock()
		n.failure = fmt.Errorf("deliver to %s: %w", packet.To, err)
		n.mutex.Unlock()
	}
}
