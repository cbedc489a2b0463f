package quicgo

import (
	"slices"
	"testing"
	"time"
)

// ran is one run and its log.
type ran struct {
	Result
	plan   Plan
	log    serverLog
	stream int64
	sent   serverLog // packets with data of the target
}

func runPlan(t *testing.T, plan Plan) ran {
	t.Helper()
	folder := t.TempDir()
	result, err := Simulate(t, plan, Conditions{Script: constant}, folder)
	if err != nil {
		t.Fatal(err)
	}
	log := readServerLog(t, folder)
	stream := log.targetStream()
	return ran{result, plan, log, stream, log.with("transport:packet_sent", "stream", stream)}
}

func (r ran) first() float64 { return r.sent[0].Time }

// evidence says for each scenario whether its cause is in the server's log, by what the log says and not by what
// quiclens makes of it. It holds with the cause and does not hold without it.
var evidence = map[string]func(r ran) bool{
	"clean": func(r ran) bool { return r.Down.Lost+r.Up.Lost == 0 && r.Took < 100*time.Millisecond },
	"think": func(r ran) bool {
		asked := r.log.with("transport:packet_received", "stream", r.stream)
		return r.first()-asked[0].Time >= 200
	},
	"burst_loss": func(r ran) bool {
		declared := len(r.log.named("recovery:packet_lost"))
		return declared >= 2 && declared <= 4 && declared == r.Down.Lost && r.expired() == 0
	},
	"tail_loss": func(r ran) bool { return r.expired() > 0 && r.Down.Lost >= 1 && r.Down.Lost <= 2 },
	"blackout": func(r ran) bool {
		asked := r.log.with("transport:packet_received", "stream", r.stream)[0].Time
		received := r.log.named("transport:packet_received").where(func(e logged) bool { return e.Time >= asked })
		return received.longestGap() >= 400 && r.expired() > 0
	},
	"stream_credit": func(r ran) bool {
		return len(r.log.with("transport:packet_sent", "stream_data_blocked", r.stream)) > 2
	},
	"connection_credit": func(r ran) bool { return len(r.log.with("transport:packet_sent", "data_blocked", -1)) > 2 },
	"small_window": func(r ran) bool {
		before := r.log.named("recovery:metrics_updated").where(func(e logged) bool {
			return e.Time < r.first() && e.Data.CongestionWindow > 0
		})
		return before[len(before)-1].Data.CongestionWindow <= 10*1280
	},
	"slow_bottleneck": func(r ran) bool {
		high := r.log.named("recovery:metrics_updated").where(func(e logged) bool {
			return e.Time > r.first() && e.Data.LatestRTT > 3*e.Data.MinRTT
		})
		return len(high) > 20 && r.Down.Lost == 0
	},
	"upload": func(r ran) bool {
		received := r.log.with("transport:packet_received", "stream", r.stream)
		return r.first()-received[0].Time >= 300
	},
	"dribble": func(r ran) bool {
		slow := 0
		for number := 1; number < len(r.sent); number++ {
			if r.sent[number].Time-r.sent[number-1].Time >= 50 {
				slow++
			}
		}
		return slow == 7
	},
	"competing": func(r ran) bool {
		last := r.sent[len(r.sent)-1].Time
		between := r.log.with("transport:packet_sent", "stream", -1).where(func(e logged) bool {
			return e.Time > r.first() && e.Time < last
		})
		return len(r.sent) > 5 && len(between) > 5*len(r.sent) && r.Down.Lost == 0
	},
	"amplification": func(r ran) bool {
		var sent, received int
		for _, event := range r.log {
			switch event.Name {
			case "transport:packet_received":
				if event.Data.Header.PacketType == "handshake" {
					// quic-go looks before it sends a packet: the last one may go over the limit
					return (sent-3*received)/1280 == 0 && r.sent.longestGap() > 30
				}
				received += event.Data.Raw.Length
			case "transport:packet_sent":
				sent += event.Data.Raw.Length
			}
		}
		return false
	},
}

// expired counts the probe timers that fired once the target was being answered.
func (r ran) expired() int {
	return len(r.log.named("recovery:loss_timer_updated").where(func(event logged) bool {
		return event.Data.EventType == "expired" && event.Data.TimerType == "pto" && event.Time > r.first()
	}))
}

func TestScenariosShowTheirCause(t *testing.T) {
	for _, scenario := range Scenarios() {
		t.Run(scenario.Name, func(t *testing.T) {
			shows, isKnown := evidence[scenario.Name]
			if !isKnown {
				t.Fatal("nothing says how this scenario's cause is seen")
			}
			for seed := 101; seed <= 105; seed++ {
				with := runPlan(t, scenario.Plan(seed, true))
				if with.stream != with.plan.TargetStreamID() {
					t.Errorf("seed %d: the target is on stream %d", seed, with.stream)
				}
				if !shows(with) {
					t.Errorf("seed %d: the cause is not in the log; %+v", seed, with.Result)
				}
				if scenario.HasNoWithout {
					continue
				}
				without := runPlan(t, scenario.Plan(seed, false))
				if shows(without) {
					t.Errorf("seed %d: the cause is in the log of the run without it", seed)
				}
				if with.Took < without.Took*5/4 {
					t.Errorf("seed %d: %v with the cause, %v without", seed, with.Took, without.Took)
				}
			}
		})
	}
}

func TestDrawsAreThoseOfThePythonLab(t *testing.T) {
	if got := fraction(7, "rtt"); got != 0.4836530513824777 {
		t.Errorf("fraction: %v", got)
	}
	if got := whole(200_000, 900_000, 7, "think"); got != 587_729 {
		t.Errorf("whole: %v", got)
	}
	if got := skewed(20_000, 60_000, 3, "size"); got < 21785.920 || got > 21785.921 {
		t.Errorf("skewed: %v", got)
	}
}

func TestScriptsChangeThePathFromTheTargetOn(t *testing.T) {
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	spec := LinkSpec{BitsPerSecond: 8_000_000, QueueBytes: 30_000}
	leaves := func(script Script, ms int, sizes ...int) (after []time.Duration) {
		way := link{spec: spec, script: script}
		way.begin(start)
		now := start.Add(time.Duration(ms) * time.Millisecond)
		for _, size := range sizes {
			if departs, passes := way.depart(now, size-ipUDPHeaderBytes); passes {
				after = append(after, departs.Sub(now))
			}
		}
		return after
	}
	many := slices.Repeat([]int{1_000}, 40)
	for _, each := range []struct {
		script Script
		ms     int
		sizes  []int
		count  int
		last   time.Duration
	}{
		{constant, 0, []int{1_000}, 1, time.Millisecond},
		{constant, 0, many, 30, 30 * time.Millisecond},
		{shallow, 0, many, 15, 15 * time.Millisecond},
		{deep, 0, many, 40, 40 * time.Millisecond},
		{dropAndBack, 99, []int{2_000}, 1, 9 * time.Millisecond},
		{dropAndBack, 499, []int{1_125}, 1, 2 * time.Millisecond},
		{lowAndUp, 296, []int{2_000}, 1, 5 * time.Millisecond},
		{blackHole, 149, []int{1_000}, 1, time.Millisecond},
		{blackHole, 150, []int{1_000}, 0, 0},
		{blackHole, 450, []int{1_000}, 1, time.Millisecond},
		{crossTraffic, 100, []int{1_000}, 1, time.Millisecond},
	} {
		after := leaves(each.script, each.ms, each.sizes...)
		if len(after) != each.count || (each.count > 0 && after[len(after)-1] != each.last) {
			t.Errorf("%s at %d ms: %v", each.script, each.ms, after)
		}
	}
	if busy := leaves(crossTraffic, 59, 1_000); busy[0] <= time.Millisecond {
		t.Errorf("nobody else sent: %v", busy)
	}
}

func TestThePathKnowsWhatItDid(t *testing.T) {
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	way := link{spec: LinkSpec{BitsPerSecond: 8_000_000, QueueBytes: 30_000}}
	for range 40 {
		way.depart(now, 1_000-ipUDPHeaderBytes)
	}
	if way.carried != (carried{lost: 10, busy: 30 * time.Millisecond}) {
		t.Errorf("%+v", way.carried)
	}
	way.begin(now.Add(time.Second))
	way.depart(now.Add(time.Second), 1_000-ipUDPHeaderBytes)
	if way.carried != (carried{busy: time.Millisecond}) {
		t.Errorf("%+v", way.carried)
	}
}

func TestCleanRunsOfEverySizeAndScriptAreAnswered(t *testing.T) {
	for _, scenario := range CleanSizes() {
		for _, script := range scripts {
			if _, err := Simulate(t, scenario.Plan(1, true), Conditions{Script: script}, t.TempDir()); err != nil {
				t.Errorf("%s %s: %v", scenario.Name, script, err)
			}
		}
	}
}

func TestSizesLeaveTheTagOutWhereTheyAreToldTo(t *testing.T) {
	sizes := func(withoutTag bool) (found []int) {
		folder := t.TempDir()
		if _, err := Simulate(t, think(1, true), Conditions{Script: constant, WithoutTag: withoutTag}, folder); err != nil {
			t.Fatal(err)
		}
		for _, event := range readServerLog(t, folder).named("transport:packet_sent") {
			found = append(found, event.Data.Raw.Length)
		}
		return found
	}
	with, without := sizes(false), sizes(true)
	if len(with) == 0 || len(with) != len(without) {
		t.Fatalf("%d and %d packets", len(with), len(without))
	}
	for number := range with {
		if with[number]-without[number] != tagBytes {
			t.Errorf("packet %d: %d and %d", number, with[number], without[number])
		}
	}
}

func TestALinkTakesItsTimeAndDropsTheTail(t *testing.T) {
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	slow := link{spec: LinkSpec{BitsPerSecond: 1_000_000, QueueBytes: 2_000}}
	for number, want := range []time.Duration{8 * time.Millisecond, 16 * time.Millisecond} {
		departs, hasRoom := slow.depart(now, 1_000-ipUDPHeaderBytes)
		if !hasRoom || departs.Sub(now) != want {
			t.Errorf("datagram %d leaves after %v, want %v", number, departs.Sub(now), want)
		}
	}
	if _, hasRoom := slow.depart(now, 1_000-ipUDPHeaderBytes); hasRoom {
		t.Error("a third datagram found room in a queue of two")
	}
}
