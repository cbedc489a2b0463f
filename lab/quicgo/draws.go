package quicgo

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"golang.org/x/crypto/blake2b"
)

// fraction draws a number in [0, 1). It is a hash of the seed and the draw's name, so adding one draw never changes
// another; quiclens_lab/draws.py gives the same numbers.
func fraction(seed int, name string) float64 {
	hash, err := blake2b.New(8, nil)
	if err != nil {
		panic(err) // 8 bytes without a key is always a valid size
	}
	hash.Write([]byte(strings.Join([]string{fmt.Sprint(seed), name}, "\x1f")))
	return float64(binary.LittleEndian.Uint64(hash.Sum(nil))>>11) / (1 << 53)
}

// between draws a number in [low, high).
func between(low, high float64, seed int, name string) float64 {
	return low + (high-low)*fraction(seed, name)
}

// whole draws an integer in [low, high], both ends included.
func whole(low, high int, seed int, name string) int {
	return low + int(fraction(seed, name)*float64(high-low+1))
}

// skewed draws a number in [low, high) evenly on a logarithmic scale: many small, few large.
func skewed(low, high float64, seed int, name string) float64 {
	return low * math.Pow(high/low, fraction(seed, name))
}
