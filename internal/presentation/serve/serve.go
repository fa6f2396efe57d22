// Package serve shows run directories in a browser: a list of them; of a run that goes on, how far
// it has come and the samples of the trial under way as they are written; of one that has ended,
// its report, at the same address.
//
//  1. serve.go  addresses, what is answered to whom, the list of runs
//  2. live.go   how far a run has come, for the page's script, which asks once a second
//  3. list.html, live.html; script and style are bundled from web/ into assets/
//
// It reads run directories and writes nothing.
package serve

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/presentation/html"
	"assay/internal/presentation/local"
	"assay/internal/presentation/tell"
)

//go:embed list.html live.html
var templates embed.FS

//go:embed assets/live.js
var script []byte

var (
	listPage = template.Must(template.ParseFS(templates, "list.html"))
	livePage = template.Must(template.ParseFS(templates, "live.html"))
)

// Server answers over HTTP. Its handler may be used by several goroutines.
type Server struct {
	directories []string
	http        http.Server
	listener    net.Listener
	ended       chan error

	guard   sync.Mutex
	known   map[string]string // directories by key, as they were found last
	reports map[string]report // by directory
	memory  chan struct{}     // held while a page is made: one at a time, it takes memory
	seen    map[rateKey]ended
}

// report is the page of a run that has ended, as of some moment.
type report struct {
	stamp string
	page  []byte
}

// reportsMax is how many pages are kept: one of a thousand trials has 10 MB.
const reportsMax = 8

// Listen serves what is in directories at an address, HOST:PORT, until Close. A server on the
// loopback answers only who asks for it by a name of the loopback: a page of somebody else's, whose
// name was made to lead here, gets nothing.
func Listen(address string, directories []string) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening at %s: %w", address, err)
	}
	s := &Server{directories: directories, listener: listener, ended: make(chan error, 1),
		memory: make(chan struct{}, 1), reports: map[string]report{}, seen: map[rateKey]ended{}}
	s.http = http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10}
	go func() { s.ended <- s.http.Serve(listener) }()
	return s, nil
}

// URL is where the list of runs is.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" }

// Ended tells of the server's end: nil after Close.
func (s *Server) Ended() <-chan error { return s.ended }

// Close ends the server, and gives answers under way a second.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) == nil {
		return nil
	}
	return s.http.Close()
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("GET /live.js", asset("text/javascript; charset=utf-8", script))
	mux.HandleFunc("GET /page.css", asset("text/css; charset=utf-8", html.Style()))
	mux.HandleFunc("GET /run/{run}/{$}", s.of((*Server).run))
	mux.HandleFunc("GET /run/{run}/progress", s.of((*Server).progress))
	mux.HandleFunc("GET /run/{run}/samples/{trial}", s.of((*Server).samples))
	mux.HandleFunc("GET /run/{run}/trials/{trial}/{file}", s.of((*Server).file))
	return local.Only(s.listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'")
		mux.ServeHTTP(w, r)
	}))
}

func asset(kind string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(content) // who asked has gone
	}
}

// found is a run directory.
type found struct {
	Key       string // in addresses
	Directory string
	Progress  *record.Progress
}

// State is what the list says of a run.
func (f found) State() string {
	switch last := last(f.Progress.Events); {
	case f.Progress.Writing:
		return "goes on"
	case last == record.EventEnded:
		return "ended"
	case last == record.EventInterrupted:
		return "interrupted"
	}
	return "was killed"
}

func (f found) Name() string {
	return format.Clean(cmp.Or(f.Progress.Header.Name, filepath.Base(f.Directory)))
}
func (f found) Where() string   { return format.Clean(f.Directory) }
func (f found) Created() string { return f.Progress.Header.Created.Local().Format("2006-01-02 15:04") }
func (f found) Trials() string {
	return fmt.Sprintf("%d of %d", len(f.Progress.States()), len(f.Progress.Plan))
}

func last(events []record.Event) string {
	for _, e := range slices.Backward(events) {
		if e.Kind != record.EventNote {
			return e.Kind
		}
	}
	return ""
}

// find looks for run directories: the newest first. What can't be read is passed over.
func (s *Server) find() (runs []found) {
	seen, keys := map[string]bool{}, map[string]int{}
	for _, d := range s.directories {
		absolute, err := filepath.Abs(d)
		if err != nil {
			continue
		}
		for _, directory := range record.Find(absolute) {
			if seen[directory] || len(runs) >= record.FindMax {
				continue
			}
			seen[directory] = true
			if progress, err := record.Follow(directory); err == nil {
				runs = append(runs, found{Directory: directory, Progress: progress})
			}
		}
	}
	for i := range runs { // copies of one directory have one ID
		id := runs[i].Progress.Header.ID
		if keys[id]++; keys[id] > 1 {
			id += "-" + strconv.Itoa(keys[id])
		}
		runs[i].Key = id
	}
	s.guard.Lock()
	defer s.guard.Unlock()
	s.known = map[string]string{}
	for _, f := range runs {
		s.known[f.Key] = f.Directory
	}
	slices.SortStableFunc(runs, func(a, b found) int {
		return b.Progress.Header.Created.Compare(a.Progress.Header.Created)
	})
	return runs
}

func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	show(w, listPage, struct {
		Runs        []found
		Directories string
	}{s.find(), format.Clean(format.List(s.directories))})
}

// of finds the run that an address names.
func (s *Server) of(answer func(*Server, http.ResponseWriter, *http.Request, found)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key := r.PathValue("run")
		directory := func() string {
			s.guard.Lock()
			defer s.guard.Unlock()
			return s.known[key]
		}
		if directory() == "" {
			s.find()
		}
		progress, err := record.Follow(directory())
		if err != nil {
			http.Error(w, "There is no such run here (any more).", http.StatusNotFound)
			return
		}
		answer(s, w, r, found{key, directory(), progress})
	}
}

// run answers with the live page while the run goes on, then with its report.
func (s *Server) run(w http.ResponseWriter, _ *http.Request, f found) {
	if f.Progress.Writing {
		show(w, livePage, f)
		return
	}
	page, err := s.report(f)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Del("Content-Security-Policy") // the page has its own
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page)
}

// report makes a run's page, or returns the one that was made since the run was written to.
func (s *Server) report(f found) ([]byte, error) {
	stamp := fmt.Sprint(len(f.Progress.Events), f.Progress.Header.Plans)
	kept := func() ([]byte, bool) {
		s.guard.Lock()
		defer s.guard.Unlock()
		have, there := s.reports[f.Directory]
		return have.page, there && have.stamp == stamp
	}
	if page, there := kept(); there {
		return page, nil
	}
	s.memory <- struct{}{}
	defer func() { <-s.memory }()
	if page, there := kept(); there { // who waited for the same page finds it made
		return page, nil
	}
	opened, err := record.Open(f.Directory)
	if err != nil {
		return nil, err
	}
	r, err := tell.Result(opened)
	if err != nil {
		return nil, err
	}
	if err := html.Locate(r, filepath.Join(f.Directory, "report.html")); err != nil {
		return nil, err
	}
	var page bytes.Buffer
	if err := html.Write(&page, r); err != nil {
		return nil, err
	}
	s.guard.Lock()
	defer s.guard.Unlock()
	if len(s.reports) >= reportsMax {
		clear(s.reports)
	}
	s.reports[f.Directory] = report{stamp, page.Bytes()}
	return page.Bytes(), nil
}

// file answers with a file of a trial, which the report links to.
func (s *Server) file(w http.ResponseWriter, r *http.Request, f found) {
	data, err := record.TrialFile(f.Directory, r.PathValue("trial"), r.PathValue("file"))
	if err != nil {
		status := http.StatusInternalServerError
		if errors.Is(err, fs.ErrNotExist) {
			status = http.StatusNotFound
		}
		http.Error(w, err.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(data)
}

func show(w http.ResponseWriter, t *template.Template, data any) {
	var page bytes.Buffer
	if err := t.Execute(&page, data); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page.Bytes())
}
