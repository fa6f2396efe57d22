package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"assay/drivers"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/store"
	"assay/worker"
)

// here is the Go worker in this process, so that it can take turns with a bare loop in short
// pieces.
type here struct {
	work      work
	directory string
	requests  *io.PipeWriter
	replies   *control.Lines
	ended     chan error
	next      int // phase number
	opened    store.Store
}

// tap is a driver that keeps what it opened, so that a bare loop can work on the same database.
type tap struct {
	store.Driver
	opened *store.Store
}

func (t tap) Open(ctx context.Context, c store.Config) (store.Store, error) {
	s, err := t.Driver.Open(ctx, c)
	*t.opened = s
	return s, err
}

// serveHere opens the work's store and loads it, record by record, as the bare loop does.
func serveHere(w work) (*here, error) {
	directory, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return nil, err
	}
	in, requests := io.Pipe()
	replies, out := io.Pipe()
	h := &here{work: w, directory: directory, requests: requests, replies: control.NewLines(replies), ended: make(chan error, 1)}
	var tapped []store.Driver
	for _, d := range drivers.All() {
		tapped = append(tapped, tap{d, &h.opened})
	}
	go func() { h.ended <- errors.Join(worker.Serve(in, out, tapped...), out.Close()) }()
	if err := h.call(w.open(directory)); err != nil {
		return nil, errors.Join(err, h.close())
	}
	p := prepareDefault()
	p.Phase, p.ZeroVersions = "load", true
	load := trace.Spec{Load: true, Records: w.records, Fresh: w.records, Order: trace.Order{Distribution: "sequential"},
		Sizes: []trace.Size{{Bytes: valueBytes, Weight: 1}}, Threads: 1}
	if _, err := w.phase(h.call, load, p); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

func (h *here) call(r control.Request) error {
	if err := control.Write(h.requests, r); err != nil {
		return err
	}
	line, err := h.replies.Next()
	if err != nil {
		return err
	}
	reply, err := control.ParseReply(line)
	if err != nil {
		return err
	}
	if reply.Error != nil {
		return fmt.Errorf("%s: %w", r.Command, reply.Error)
	}
	return nil
}

// run does so many operations and returns ns each.
func (h *here) run(operations int) (float64, error) {
	if h.next++; h.next > 254 {
		return 0, errors.New("at most 254 pieces: phases have numbers of one byte")
	}
	p, s := prepareDefault(), h.work.spec()
	p.Phase, p.Number, p.LoadedRecords, p.Verify = "piece", h.next, h.work.records, h.work.verify
	s.Limit = uint64(operations)
	return h.work.phase(h.call, s, p)
}

func (h *here) close() error {
	return errors.Join(h.requests.Close(), <-h.ended, os.RemoveAll(h.directory))
}
