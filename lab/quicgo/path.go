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
	// seedsOfAJitter is more than any seed that is asked for.
	seedsOfAJitter = 1_000_000
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
	// ArrivedFirst leaves lost packets out.
	ArrivedFirst time.Time
}

// carried is what a direction did since the target was asked for, as the lab knows it and no log says.
type carried struct {
	lost int64         // datagrams that a full queue or a dark path took
	busy time.Duration // the longest stretch in which the bottleneck never stood still
}

// link is one direction in use.
type link struct {
	spec        LinkSpec
	script      Script
	name        string
	seed        int
	origin      time.Time // when the target was asked for; zero before
	busySince   time.Time
	busyUntil   time.Time
	lastArrival time.Time
	crossNext   time.Time // zero where nobody else sends
	datagrams   int
	carried     carried
	traffic     Traffic
	ends        []time.Time // when the sending end closed, and what it sent and what reached it from then on
}

// begin starts the script: the target is asked for.
func (l *link) begin(now time.Time) {
	l.origin, l.carried = now, carried{}
	if l.script == crossTraffic {
		l.crossNext = now
	}
}

// depart takes a datagram and says when it has left the bottleneck, or false when the queue is full or the path dark.
func (l *link) depart(now time.Time, payloadBytes int) (departs time.Time, passes bool) {
	l.others(now)
	l.datagrams++
	isDark := !l.origin.IsZero() && l.script.isDark(now.Sub(l.origin))
	if !isDark {
		departs, passes = l.enqueue(now, int64(payloadBytes+ipUDPHeaderBytes))
	}
	if !passes {
		l.carried.lost++
	}
	return departs, passes
}

// others puts into the queue what another flow has sent until now.
func (l *link) others(now time.Time) {
	for !l.crossNext.IsZero() && !l.crossNext.After(now) {
		turn := l.crossNext.Sub(l.origin) / crossTurn
		if turn%2 == 1 {
			l.crossNext = l.origin.Add(crossTurn * (turn + 1))
			continue
		}
		l.enqueue(l.crossNext, crossPacketBytes) // a full queue drops theirs too
		gap := crossPacketBytes * 8 / (crossShare * float64(l.spec.BitsPerSecond))
		l.crossNext = l.crossNext.Add(time.Duration(gap * float64(time.Second)))
	}
}

// enqueue says when so many bytes have left the bottleneck, or false when its queue is full.
func (l *link) enqueue(now time.Time, bytes int64) (time.Time, bool) {
	starts := now
	if l.busyUntil.After(now) {
		starts = l.busyUntil
	} else {
		l.busySince = now
	}
	if l.bytesBetween(now, starts)+float64(bytes) > float64(l.script.queueBytes(l.spec.QueueBytes)) {
		return time.Time{}, false
	}
	l.busyUntil = l.after(starts, float64(bytes*8))
	l.carried.busy = max(l.carried.busy, l.busyUntil.Sub(l.busySince))
	return l.busyUntil, true
}

// rate is the rate at a moment, in bits a second, and when it changes next: zero is never.
func (l *link) rate(at time.Time) (float64, time.Time) {
	if l.origin.IsZero() || at.Before(l.origin) {
		return float64(l.spec.BitsPerSecond), l.origin
	}
	share, changes := l.script.share(at.Sub(l.origin))
	if changes == 0 {
		return share * float64(l.spec.BitsPerSecond), time.Time{}
	}
	return share * float64(l.spec.BitsPerSecond), l.origin.Add(changes)
}

// bytesBetween is what leaves a busy bottleneck between two moments.
func (l *link) bytesBetween(from, to time.Time) (bytes float64) {
	for from.Before(to) {
		rate, until := l.rate(from)
		if until.IsZero() || until.After(to) {
			until = to
		}
		bytes += rate * until.Sub(from).Seconds() / 8
		from = until
	}
	return bytes
}

// after is when so many bits have left the bottleneck that begin at a moment.
func (l *link) after(from time.Time, bits float64) time.Time {
	for {
		rate, changes := l.rate(from)
		ends := from.Add(time.Duration(bits / rate * float64(time.Second)))
		if changes.IsZero() || !changes.Before(ends) {
			return ends
		}
		bits -= rate * changes.Sub(from).Seconds()
		from = changes
	}
}

// arrive says when a datagram that has left the bottleneck is there. Datagrams keep their order.
func (l *link) arrive(departs time.Time) time.Time {
	draw := fraction(l.seed, fmt.Sprintf("jitter %s %d", l.name, departs.UnixNano()))
	arrives := departs.Add(l.spec.Delay + time.Duration(draw*float64(jitter)))
	if longest := l.script.longestJitter(); longest > 0 {
		late := fraction(l.seed, fmt.Sprintf("late %s %d", l.name, l.datagrams))
		arrives = arrives.Add(time.Duration(late * float64(longest)))
	}
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
	isClosing  bool
	lostFlight time.Duration
	flightEnds time.Time
	failure    error
}

func newNetwork(plan Plan, conditions Conditions, server net.Addr) *network {
	script, seed := conditions.Script, plan.Seed+conditions.JitterSeed*seedsOfAJitter
	n := &network{
		up:     link{spec: plan.Up, script: script, name: "up", seed: seed},
		down:   link{spec: plan.Down, script: script, name: "down", seed: seed},
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

// begin starts the script of both directions.
func (n *network) begin() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.up.begin(time.Now())
	n.down.begin(time.Now())
}

// close is told when the client closes: a connection that is closed answers what comes late, and logs nothing any more.
func (n *network) close() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.isClosing = true
	n.up.ends = []time.Time{time.Now()}
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
	if n.isClosing {
		direction.ends = append(direction.ends, now)
	}

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
	if n.isClosing {
		receiver := &n.up
		if isUp {
			receiver = &n.down
		}
		receiver.ends = append(receiver.ends, now)
	}
	n.mutex.Unlock()
	if err := n.PerfectRouter.SendPacket(packet); err != nil {
		n.mutex.Lock()
		n.failure = fmt.Errorf("deliver to %s: %w", packet.To, err)
		n.mutex.Unlock()
	}
}
