package quicgo

import (
	"bufio"
	"context"
	"os"
	"path/filepath"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// tagBytes protect every packet that has a number.
const tagBytes = 16

// logFile is one qlog on its way to the disk.
type logFile struct {
	*bufio.Writer
	file *os.File
}

// Close writes what is left, then closes the file.
func (f logFile) Close() error {
	if err := f.Flush(); err != nil {
		f.file.Close()
		return err
	}
	return f.file.Close()
}

// tracer writes the qlog of one end's connections to folder/<name>.sqlog and shows every event to watch, if there is one.
// A connection made while isSilent is not logged. With leavesTagOut the file has sizes of packets before they were sealed. Failures go to fail: quic-go's tracer cannot return one.
type tracer struct {
	folder       string
	name         string
	isSilent     bool
	leavesTagOut bool
	watch        func(qlogwriter.Event)
	fail         func(error)
}

func (t *tracer) trace(_ context.Context, isClient bool, connectionID quic.ConnectionID) qlogwriter.Trace {
	if t.isSilent {
		return nil
	}
	file, err := os.Create(filepath.Join(t.folder, t.name+".sqlog"))
	if err != nil {
		t.fail(err)
		return nil
	}
	sequence := newSequence(logFile{bufio.NewWriterSize(file, 1<<16), file}, isClient, connectionID)
	go sequence.Run()
	return watchedTrace{sequence, t.watch, t.leavesTagOut}
}

// watchedTrace is a trace whose events somebody sees as they are made.
type watchedTrace struct {
	qlogwriter.Trace
	watch        func(qlogwriter.Event)
	leavesTagOut bool
}

// AddProducer wraps the trace's own recorder.
func (t watchedTrace) AddProducer() qlogwriter.Recorder {
	recorder := t.Trace.AddProducer()
	if recorder == nil {
		return recorder
	}
	return watchedRecorder{recorder, t.watch, t.leavesTagOut}
}

type watchedRecorder struct {
	qlogwriter.Recorder
	watch        func(qlogwriter.Event)
	leavesTagOut bool
}

// RecordEvent shows the event, then records it.
func (r watchedRecorder) RecordEvent(event qlogwriter.Event) {
	if r.watch != nil {
		r.watch(event)
	}
	if r.leavesTagOut {
		event = withoutTag(event)
	}
	r.Recorder.RecordEvent(event)
}

// withoutTag is the event as a writer leaves it that takes a packet's size before it is sealed.
func withoutTag(event qlogwriter.Event) qlogwriter.Event {
	switch packet := event.(type) {
	case qlog.PacketSent:
		packet.Raw.Length -= tagBytes
		return packet
	case qlog.PacketReceived:
		packet.Raw.Length -= tagBytes
		return packet
	}
	return event
}
