package quicgo

import "time"

// Request is one exchange: what the client sends, how long the server thinks, what it answers and in which pieces.
type Request struct {
	RequestBytes  int
	ResponseBytes int
	Think         time.Duration
	PieceBytes    int // 0: the answer is written in one piece
	PieceGap      time.Duration
}

// ClientLimits are the client's flow control windows, held at this size; 0 leaves quic-go's own.
type ClientLimits struct {
	StreamBytes     uint64
	ConnectionBytes uint64
}

// Strike is a loss aimed at one response. It begins with the packet that carries byte FromByte of the stream for the
// first time: that packet and the next ones with new data are lost, Packets in all. With Dark set nothing at all gets
// through in either direction for that long.
type Strike struct {
	StreamID int64
	FromByte int64
	Packets  int
	Dark     time.Duration
}

// Plan is everything about one connection. With a ZeroRTT plan the target is the only request, on a resumed connection.
type Plan struct {
	Seed    int
	Up      LinkSpec
	Down    LinkSpec
	WarmUp  Request
	Target  Request
	Others  []Request // asked for together with the target, on the streams after it
	Limits  ClientLimits
	Strikes []Strike
	ZeroRTT *ZeroRTT
}

// ZeroRTT sends the target as early data. Without an address token the server may send three times what it received,
// until the client's next flight arrives; what the client sends within LostFlight of the server's first packet is lost.
type ZeroRTT struct {
	HasToken   bool
	LostFlight time.Duration
}

// Streams of the warm-up, and of the target behind it.
const (
	warmUpStreamID = 0
	targetStreamID = 4
)

// TargetStreamID says which stream the target request is on.
func (p Plan) TargetStreamID() int64 {
	if p.ZeroRTT != nil {
		return 0
	}
	return targetStreamID
}
