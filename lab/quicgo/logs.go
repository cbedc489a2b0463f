package quicgo

import (
	"bufio"
	"context"
	"os"
	"path/filepath"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlogwriter"
)

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
// A connection made while isSilent is not logged. Failures go to fail: quic-go's tracer cannot return one.
type tracer struct {
	folder   string
	name     string
	isSilent bool
	watch    func(qlogwriter.Event)
	fail     func(error)
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
	sequence := qlogwriter.NewConnectionFileSeq(logFile{bufio.NewWriterSize(file, 1<<16), file}, isClient, connectionID)
	go sequence.Run()
	return watchedTrace{sequence, t.watch}
}

// watchedTrace is a trace whose events somebody sees as they are made.
type watchedTrace struct {
	qlogwriter.Trace
	watch func(qlogwriter.Event)
}

// AddProducer wraps the trace's own recorder.
func (t watchedTrace) AddProducer() qlogwriter.Recorder {
	recorder := t.Trace.AddProducer()
	if recorder == nil || t.watch == nil {
		return recorder
	}
	return watchedRecorder{recorder, t.watch}
}

type watchedRecorder struct {
	qlogwriter.Recorder
	watch func(qlogwriter.Event)
}

// RecordEvent shows the event, then records it.
func (r watchedRecorder) RecordEvent(event qlogwriter.Event) {
	r.watch(event)
	r.Recorder.RecordEvent(event)
}
