package quicgo

import (
	"fmt"
	"slices"
	"time"
)

// Script is what a path does beside its rate and delay. Its times count from the moment at which the target is asked for.
type Script string

const (
	constant     Script = "constant"      // nothing
	shallow      Script = "shallow"       // a queue of ten packets
	deep         Script = "deep"          // a queue of 2 MB
	jittery      Script = "jitter"        // each datagram is up to 8 ms late, none overtakes another
	dropAndBack  Script = "drop-and-back" // from 100 to 500 ms an eighth of the rate
	lowAndUp     Script = "low-and-up"    // a quarter of the rate for the first 300 ms
	blackHole    Script = "black-hole"    // from 150 to 450 ms nothing passes, either way
	crossTraffic Script = "cross-traffic" // every other 60 ms another flow sends at seven tenths of the rate
	lateHole     Script = "late-hole"     // from 300 to 500 ms nothing passes, either way
	highAndLow   Script = "high-and-low"  // from 200 ms to a second a fifth of the rate
	narrowJitter Script = "narrow-jitter" // a queue of twenty packets, and each datagram is up to 15 ms late, none overtakes another
)

// scripts are those of lab/injected/src/link.rs and of quiclens_lab/path.py.
var scripts = []Script{constant, shallow, deep, jittery, dropAndBack, lowAndUp, blackHole, crossTraffic, lateHole,
	highAndLow, narrowJitter}

const (
	crossPacketBytes = 1_250
	crossTurn        = 60 * time.Millisecond
	crossShare       = 0.7
)

func scriptNamed(name string) (Script, error) {
	if !slices.Contains(scripts, Script(name)) {
		return "", fmt.Errorf("no script %q; there are %v", name, scripts)
	}
	return Script(name), nil
}

// share is the share of the rate at a time after the target was asked for, and when it changes next: 0 is never.
func (s Script) share(at time.Duration) (share float64, changes time.Duration) {
	switch {
	case s == dropAndBack && at < 100*time.Millisecond:
		return 1, 100 * time.Millisecond
	case s == dropAndBack && at < 500*time.Millisecond:
		return 0.125, 500 * time.Millisecond
	case s == lowAndUp && at < 300*time.Millisecond:
		return 0.25, 300 * time.Millisecond
	case s == highAndLow && at < 200*time.Millisecond:
		return 1, 200 * time.Millisecond
	case s == highAndLow && at < time.Second:
		return 0.2, time.Second
	}
	return 1, 0
}

func (s Script) queueBytes(usual int64) int64 {
	switch s {
	case shallow:
		return 15_000
	case deep:
		return 2_000_000
	case narrowJitter:
		return 30_000
	}
	return usual
}

func (s Script) isDark(at time.Duration) bool {
	switch s {
	case blackHole:
		return at >= 150*time.Millisecond && at < 450*time.Millisecond
	case lateHole:
		return at >= 300*time.Millisecond && at < 500*time.Millisecond
	}
	return false
}

func (s Script) longestJitter() time.Duration {
	switch s {
	case jittery:
		return 8 * time.Millisecond
	case narrowJitter:
		return 15 * time.Millisecond
	}
	return 0
}
