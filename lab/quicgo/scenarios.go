package quicgo

import "time"

// Scenario is one cause, injected into the target request of a connection that a small first request has warmed up.
type Scenario struct {
	Name  string
	Cause string // as the server's log shows it
	// ClientCause is what the client's log shows, where that is beyond doubt; "" is not judged.
	ClientCause string
	Says        string
	// Plan gives the run with the cause, or the same run without it.
	Plan func(seed int, isWith bool) Plan
	// HasNoWithout marks a scenario whose cause cannot be taken away.
	HasNoWithout bool
}

// Scenarios are all scenarios in the order in which they are generated.
func Scenarios() []Scenario {
	return []Scenario{
		{Name: "clean", Cause: "network", ClientCause: "network", Says: "nothing is injected", Plan: clean, HasNoWithout: true},
		{Name: "think", Cause: "server_think", ClientCause: "remote_wait", Says: "the application takes 200-900 ms", Plan: think},
		{Name: "burst_loss", Cause: "loss_recovery", Says: "2-4 packets in the middle of the response are lost", Plan: burstLoss},
		{Name: "tail_loss", Cause: "pto", Says: "the end of the response is lost", Plan: tailLoss},
		{Name: "blackout", Cause: "pto", Says: "nothing gets through for 400-900 ms, in the middle of the response", Plan: blackout},
		{Name: "stream_credit", Cause: "stream_flow_control", Says: "the client grants each stream 8-16 kB", Plan: streamCredit},
		{Name: "connection_credit", Cause: "connection_flow_control", Says: "the client grants 8-16 kB in all", Plan: connectionCredit},
		{Name: "small_window", Cause: "cwnd_blocked", Says: "losses before the target have left a window of a few packets", Plan: smallWindow},
		{Name: "slow_bottleneck", Cause: "bandwidth", ClientCause: "receiving", Says: "1-2.5 Mbit/s behind a deep queue", Plan: slowBottleneck},
		{Name: "upload", Cause: "upload", ClientCause: "upload", Says: "a large body over a slow uplink", Plan: upload},
		{Name: "dribble", Cause: "app_limited", Says: "the server writes its answer in small pieces, with gaps", Plan: dribble},
		{Name: "competing", Cause: "scheduling", Says: "8-12 larger responses share the connection at the same time", Plan: competing},
		{Name: "amplification", Cause: "amplification", Says: "early data is answered before the client's address is proven, and its next flight is lost", Plan: amplification},
	}
}

// CleanSizes inject nothing, by the size of the response: they are judged by what the path rules out.
func CleanSizes() (found []Scenario) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"clean_10k", 10_000}, {"clean_200k", 200_000}, {"clean_2m", 2_000_000}} {
		found = append(found, Scenario{
			Name: size.name, Cause: "network", Says: "nothing is injected", HasNoWithout: true,
			Plan: func(seed int, _ bool) Plan {
				plan := plan(seed, Request{ResponseBytes: size.bytes, Think: time.Millisecond})
				plan.Limits = ClientLimits{StreamBytes: ampleCredit, ConnectionBytes: ampleCredit}
				return plan
			},
		})
	}
	return found
}

// ampleCredit is a window that no response of CleanSizes fills.
const ampleCredit = 16_000_000

func milliseconds(count float64) time.Duration {
	return time.Duration(count * float64(time.Millisecond))
}

func size(low, high float64, seed int) int { return int(skewed(low, high, seed, "size")) }

// plan is the common ground: a good path, a small warm-up, this target.
func plan(seed int, target Request) Plan {
	delay := milliseconds(between(30, 80, seed, "rtt") / 2)
	return Plan{
		Seed:   seed,
		Up:     LinkSpec{BitsPerSecond: 20_000_000, Delay: delay, QueueBytes: 400_000},
		Down:   LinkSpec{BitsPerSecond: 40_000_000, Delay: delay, QueueBytes: 400_000},
		WarmUp: Request{ResponseBytes: 2_000, Think: microseconds(whole(300, 1_500, seed, "warm-up think"))},
		Target: target,
	}
}

func microseconds(count int) time.Duration { return time.Duration(count) * time.Microsecond }

func clean(seed int, _ bool) Plan {
	think := microseconds(whole(200, 2_000, seed, "think"))
	return plan(seed, Request{ResponseBytes: size(1_000, 10_000, seed), Think: think})
}

func think(seed int, isWith bool) Plan {
	think := time.Millisecond
	if isWith {
		think = microseconds(whole(200_000, 900_000, seed, "think"))
	}
	return plan(seed, Request{ResponseBytes: size(1_000, 10_000, seed), Think: think})
}

// struck is a plan whose target's response meets a strike.
func struck(seed int, isWith bool, responseBytes int, strike Strike) Plan {
	plan := plan(seed, Request{ResponseBytes: responseBytes, Think: time.Millisecond})
	if isWith {
		strike.StreamID = targetStreamID
		plan.Strikes = []Strike{strike}
	}
	return plan
}

func burstLoss(seed int, isWith bool) Plan {
	bytes := size(20_000, 36_000, seed) // one window: the repair is not hidden behind later data
	return struck(seed, isWith, bytes, Strike{FromByte: int64(bytes) / 2, Packets: whole(2, 4, seed, "packets")})
}

// tailLoss loses the last packet with data and the one that ends the stream: the header field takes more than ten bytes,
// so byte ResponseBytes+9 is one of the last. quic-go probes with two packets; a third would need another round trip.
func tailLoss(seed int, isWith bool) Plan {
	bytes := size(5_000, 20_000, seed)
	return struck(seed, isWith, bytes, Strike{FromByte: int64(bytes) + 9, Packets: 10})
}

func blackout(seed int, isWith bool) Plan {
	bytes := size(30_000, 100_000, seed)
	dark := microseconds(whole(400_000, 900_000, seed, "blackout"))
	return struck(seed, isWith, bytes, Strike{FromByte: int64(bytes) / 2, Dark: dark})
}

func streamCredit(seed int, isWith bool) Plan {
	plan := plan(seed, Request{ResponseBytes: size(60_000, 150_000, seed), Think: time.Millisecond})
	if isWith {
		plan.Limits.StreamBytes = uint64(whole(8_000, 16_000, seed, "credit"))
	}
	return plan
}

func connectionCredit(seed int, isWith bool) Plan {
	plan := plan(seed, Request{ResponseBytes: size(60_000, 150_000, seed), Think: time.Millisecond})
	if isWith {
		plan.Limits.ConnectionBytes = uint64(whole(8_000, 16_000, seed, "credit"))
	}
	return plan
}

// smallWindow has the warm-up lose a packet in each of several windows. What is left is a window so small that the
// pacer's burst of ten packets covers it, and a slow start threshold that keeps it small.
func smallWindow(seed int, isWith bool) Plan {
	plan := plan(seed, Request{ResponseBytes: size(60_000, 120_000, seed), Think: time.Millisecond})
	plan.Up.Delay = milliseconds(between(120, 250, seed, "rtt") / 2)
	plan.Down.Delay, plan.Down.BitsPerSecond = plan.Up.Delay, 100_000_000
	plan.WarmUp.ResponseBytes = 265_000
	if isWith {
		for _, place := range []int64{20_000, 80_000, 130_000, 170_000, 200_000, 225_000, 245_000} {
			plan.Strikes = append(plan.Strikes, Strike{StreamID: warmUpStreamID, FromByte: place, Packets: 1})
		}
	}
	return plan
}

func slowBottleneck(seed int, isWith bool) Plan {
	plan := plan(seed, Request{ResponseBytes: size(300_000, 600_000, seed), Think: time.Millisecond})
	if isWith {
		plan.Down.BitsPerSecond = int64(between(1.0, 2.5, seed, "rate") * 1_000_000)
		plan.Down.QueueBytes = 2_000_000
	}
	return plan
}

func upload(seed int, isWith bool) Plan {
	target := Request{ResponseBytes: 1_000, Think: time.Millisecond}
	if isWith {
		target.RequestBytes = size(150_000, 400_000, seed)
	}
	plan := plan(seed, target)
	plan.Up.BitsPerSecond = 2_000_000
	return plan
}

func dribble(seed int, isWith bool) Plan {
	target := Request{ResponseBytes: 24_000, Think: time.Millisecond}
	if isWith {
		target.PieceBytes, target.PieceGap = 3_000, microseconds(whole(50_000, 150_000, seed, "gap"))
	}
	return plan(seed, target)
}

// competing lets the others begin first: the target finds them at work. quic-go serves streams in turn when requests
// carry no priority.
func competing(seed int, isWith bool) Plan {
	plan := plan(seed, Request{ResponseBytes: size(15_000, 30_000, seed), Think: 2 * time.Millisecond})
	plan.Down.BitsPerSecond, plan.Down.QueueBytes = 100_000_000, 2_000_000
	if isWith {
		for range whole(8, 12, seed, "others") {
			plan.Others = append(plan.Others, Request{ResponseBytes: 3 * plan.Target.ResponseBytes, Think: time.Millisecond})
		}
	}
	return plan
}

// amplification is taken away by the token of an earlier connection, which tells the server that the address is the
// client's; then the client's flight is not lost either, for nothing else would wait for it.
func amplification(seed int, isWith bool) Plan {
	plan := plan(seed, Request{ResponseBytes: size(12_000, 30_000, seed), Think: time.Millisecond})
	plan.ZeroRTT = &ZeroRTT{HasToken: !isWith}
	if isWith {
		plan.ZeroRTT.LostFlight = 20 * time.Millisecond
	}
	return plan
}
