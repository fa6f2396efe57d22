package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"assay/internal/presentation/local"
)

// lastScrapeMin and lastScrapeMax bound how long a run that has ended waits to be scraped once more.
const (
	lastScrapeMin = 10 * time.Second
	lastScrapeMax = time.Minute
)

// Server answers at /metrics.
type Server struct {
	meter    *Meter
	http     http.Server
	listener net.Listener
	failed   chan error

	guard   sync.Mutex
	scraped [2]time.Time // the last two
	scrape  chan struct{}
}

// Address completes what --metrics was given: without a host it is the loopback.
func Address(given string) (string, error) {
	host, port, err := net.SplitHostPort(given)
	if err != nil || port == "" {
		return "", fmt.Errorf("%q is no address: expected :PORT, which listens on the loopback, or HOST:PORT", given)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// Serve listens on an address and answers with the figures of a meter until Close.
func Serve(address string, m *Meter) (*Server, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(m); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening at %s: %w", address, err)
	}
	s := &Server{meter: m, listener: listener, failed: make(chan error, 1), scrape: make(chan struct{}, 1)}
	figures := promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		figures.ServeHTTP(w, r)
		s.noteScrape()
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "Assay's figures of a run are at /metrics.")
	})
	s.http = http.Server{Handler: local.Only(listener, mux), ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes: 64 << 10}
	go func() { s.failed <- s.http.Serve(listener) }()
	return s, nil
}

// URL is where the figures are.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/metrics" }

func (s *Server) noteScrape() {
	s.guard.Lock()
	defer s.guard.Unlock()
	s.scraped[0], s.scraped[1] = s.scraped[1], time.Now()
	select {
	case s.scrape <- struct{}{}:
	default:
	}
}

// Last waits for a scrape after all was measured: twice the time between the last two, from ten
// seconds to a minute. It says whether everything was scraped.
func (s *Server) Last(ctx context.Context, waits func(time.Duration)) bool {
	if !s.meter.unread() {
		return true
	}
	s.guard.Lock()
	var every time.Duration
	if !s.scraped[0].IsZero() {
		every = s.scraped[1].Sub(s.scraped[0])
	}
	s.guard.Unlock()
	patience := min(max(2*every, lastScrapeMin), lastScrapeMax)
	waits(patience)
	end := time.NewTimer(patience)
	defer end.Stop()
	for s.meter.unread() {
		select {
		case <-s.scrape:
		case <-end.C:
			return !s.meter.unread()
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// unread says whether something was measured since the last scrape.
func (m *Meter) unread() bool {
	m.guard.Lock()
	defer m.guard.Unlock()
	return m.news
}

// Close ends the server, and gives scrapes under way a second.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	if served := <-s.failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("serving metrics: %s", strings.TrimSpace(err.Error()))
	}
	return nil
}
