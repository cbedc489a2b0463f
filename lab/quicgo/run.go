package quicgo

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go/testutils/simnet"
)

const (
	longestRun = 5 * time.Minute // of virtual time
	settle     = 200 * time.Millisecond
)

var (
	wallStart     = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	clientAddress = &net.UDPAddr{IP: net.IPv4(198, 51, 100, 1), Port: 50_000}
	serverAddress = &net.UDPAddr{IP: net.IPv4(203, 0, 113, 1), Port: 443}
)

// Result is what a run was, by the path's own account.
type Result struct {
	Took     time.Duration // the target, at the client
	Up, Down Traffic
	Path     PathFacts
}

// Conditions are what is not of the plan: what the path does, and how the log counts.
type Conditions struct {
	Script     Script
	WithoutTag bool // sizes of packets in the logs leave the 16 bytes of the tag out
	JitterSeed int  // another number is other jitter on the same path; what the plan draws stays
}

// run is one simulation at work.
type run struct {
	plan                 Plan
	network              *network
	serverTLS, clientTLS *tls.Config
	serverLog, clientLog *tracer

	mutex   sync.Mutex
	failure error
}

func (r *run) fail(err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.failure = errors.Join(r.failure, err)
}

// Simulate runs a plan in virtual time and leaves server.sqlog and client.sqlog in folder. It fails when a request was
// not answered in full, or when a log's time differs from the path's by more than a millisecond.
func Simulate(t *testing.T, plan Plan, conditions Conditions, folder string) (result Result, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return result, err
	}
	r := &run{plan: plan, network: newNetwork(plan, conditions, serverAddress)}
	if r.serverTLS, r.clientTLS, err = tlsSides(); err != nil {
		return result, err
	}
	r.serverLog = &tracer{folder: folder, name: "server", watch: r.network.aim.see, fail: r.fail, leavesTagOut: conditions.WithoutTag}
	r.clientLog = &tracer{folder: folder, name: "client", fail: r.fail, leavesTagOut: conditions.WithoutTag}
	// One processor and seeded keys: the same plan gives the same bytes, as far as Go's scheduler lets it.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	cryptotest.SetGlobalRandom(t, uint64(plan.Seed))
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(wallStart.Add(time.Duration(plan.Seed) * time.Second)))
		ctx, cancel := context.WithTimeout(context.Background(), longestRun)
		defer cancel()
		result.Took, err = r.connect(ctx)
	})
	result.Up, result.Down = r.network.up.traffic, r.network.down.traffic
	up, down := r.network.up.carried, r.network.down.carried
	result.Path = PathFacts{
		Lost: up.lost + down.lost, BusyUs: down.busy.Microseconds(), RTTUs: (plan.Up.Delay + plan.Down.Delay).Microseconds(),
	}
	if err := errors.Join(err, r.failure, r.network.failure); err != nil {
		return result, err
	}
	return result, errors.Join(
		checkSpan(filepath.Join(folder, "client.sqlog"), result.Up.First, r.network.up.ends),
		checkSpan(filepath.Join(folder, "server.sqlog"), result.Up.ArrivedFirst, r.network.down.ends),
	)
}

// connect sets both ends up, has the requests made, and takes everything down again.
func (r *run) connect(ctx context.Context) (took time.Duration, err error) {
	serverSocket := simnet.NewBlockingSimConn(serverAddress, r.network)
	clientSocket := simnet.NewBlockingSimConn(clientAddress, r.network)
	defer serverSocket.Close()
	defer clientSocket.Close()
	server, err := startServer(r, serverSocket, r.serverLog)
	if err != nil {
		return 0, err
	}
	near := newClient(r, clientSocket, serverAddress, r.clientLog)
	took, err = r.requests(ctx, near)
	return took, errors.Join(err, near.quic.Close(), server.close())
}

// requests makes the warm-up, then the target: on the same connection, or as early data of the next.
func (r *run) requests(ctx context.Context, near *client) (time.Duration, error) {
	isEarly := r.plan.ZeroRTT != nil
	r.serverLog.isSilent, r.clientLog.isSilent = isEarly, isEarly
	connection, err := near.dial(ctx, false)
	if err != nil {
		return 0, fmt.Errorf("dial: %w", err)
	}
	if err := fetch(ctx, connection, "/warm-up", r.plan.WarmUp, http.MethodGet); err != nil {
		return 0, err
	}
	time.Sleep(gapBeforeTarget)
	if isEarly {
		if err := connection.CloseWithError(0, ""); err != nil {
			return 0, err
		}
		r.pause()
		r.serverLog.isSilent, r.clientLog.isSilent = false, false
		r.network.forget()
		r.network.begin()
		if connection, err = near.dial(ctx, true); err != nil {
			return 0, fmt.Errorf("dial again: %w", err)
		}
	}
	if !isEarly {
		r.network.begin()
	}
	took, err := near.target(ctx, connection)
	r.pause()
	r.network.close()
	err = errors.Join(err, connection.CloseWithError(0, ""))
	r.pause()
	return took, err
}

// pause lets everything under way arrive and be acknowledged.
func (r *run) pause() {
	time.Sleep(2*(r.plan.Up.Delay+r.plan.Down.Delay) + settle)
}
