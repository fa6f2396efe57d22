package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"assay/internal/evidence/record"
)

// A real Prometheus scrapes a run: what it has seen at the end is what the run directory holds.
func TestPrometheusScrapesARun(t *testing.T) {
	t.Parallel()
	prometheus, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed (Debian: apt-get install prometheus)")
	}
	directory := filepath.Join(t.TempDir(), "scraped")
	figures, api := freeAddress(t), freeAddress(t)
	startPrometheus(t, prometheus, api, figures)
	e := assay(t, "run", "bbolt", "--records", "500", "--operations", "3000", "--blocks", "1", "--set", "busy_machine=tell",
		"--out", directory, "--metrics", figures)
	run := fine(t, e, directory)
	// It waits for the last scrape, and says so, unless one came after the last sample by itself.
	wantParts(t, "standard error", e.stderr, "Metrics: http://"+figures+"/metrics")
	if strings.Contains(e.stderr, "was not scraped") {
		t.Errorf("the last scrape was missed:\n%s", e.stderr)
	}

	for id, trial := range run.Trials {
		for _, phase := range trial.Phases {
			for _, o := range phase.Operations {
				of := fmt.Sprintf("trial=%q,phase=%q,operation=%q", id, phase.Name, o.Name)
				asked(t, api, "assay_operations_total{outcome=\"ok\","+of+"}[10m]", `,"([0-9.e+]+)"\]\]`, float64(o.OK))
				if o.Service.Count() > 0 {
					asked(t, api, "assay_service_seconds{"+of+"}[10m]", `"count":"([0-9.e+]+)"`, float64(o.Service.Count()))
				}
			}
		}
	}
}

// dashed is a run whose records are counted first, and then deleted and missed, so that each panel has
// something to show. Its seed puts the store before the null driver.
const dashed = `name: dashed
stores: [bbolt]
durability: D1
records: 50
blocks: 1
seed: 1
busy_machine: tell
phases:
  - {name: load, load: true}
  - {name: grow, mix: {read: 1, insert: 1}, rate: 200, for: 5s}
  - {name: mixed, mix: {upsert: 1, read: 2, delete: 1}, rate: 200, for: 600s}
`

// A real Prometheus has data for each panel of the dashboard while a run goes on.
func TestPrometheusAnswersTheDashboard(t *testing.T) {
	t.Parallel()
	prometheus, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed (Debian: apt-get install prometheus)")
	}
	text, err := os.ReadFile("../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	figures, api := freeAddress(t), freeAddress(t)
	startPrometheus(t, prometheus, api, figures)
	p := start(t, nil, "run", written(t, "dashed.yaml", dashed), "--out", filepath.Join(t.TempDir(), "dashed"), "--plain", "--metrics", figures)
	queries := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries++
			query := strings.NewReplacer("$run", "dashed", "$store", "bbolt", "$__rate_interval", "10m").Replace(target.Expr)
			asked(t, api, "count(count_over_time(("+query+")[10m:5s])) > bool 0", `,"([0-9.e+]+)"\]`, 1)
		}
	}
	if queries < 5 {
		t.Errorf("the dashboard has %d queries", queries)
	}
	p.send(t, syscall.SIGINT)
	p.end(t)
}

func TestImpossibleMetricsAreRefused(t *testing.T) {
	t.Parallel()
	assay(t, "run", "bbolt", "--metrics", "9464").wants(t, exitUsage, "--metrics", `"9464" is no address`, ":PORT")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	directory := filepath.Join(t.TempDir(), "run")
	assay(t, "run", "bbolt", "--records", "10", "--operations", "10", "--out", directory, "--metrics", taken.Addr().String()).
		wants(t, exitUsage, "--metrics", "address already in use")
	if _, err := record.Open(directory); err == nil {
		t.Error("the run began")
	}
}

// freeAddress is one of the loopback at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func startPrometheus(t *testing.T, program, api, figures string) {
	t.Helper()
	directory := t.TempDir()
	config := filepath.Join(directory, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs: [{job_name: assay, static_configs: [{targets: [%q]}]}]\n", figures)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said transcript
	server := exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(directory, "data"),
		"--web.listen-address="+api, "--enable-feature=native-histograms")
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = server.Wait() // it was killed
	})
	eventually(t, func() bool {
		answer, err := http.Get("http://" + api + "/-/ready")
		if err != nil {
			return false
		}
		_ = answer.Body.Close() // is of no interest
		return answer.StatusCode == http.StatusOK
	}, said.String)
}

// asked waits until the last value of a query's answer, which stands in it in some form, is what it
// should be.
func asked(t *testing.T, api, query, form string, want float64) {
	t.Helper()
	var body string
	value := regexp.MustCompile(form)
	eventually(t, func() bool {
		answer, err := http.Get("http://" + api + "/api/v1/query?query=" + url.QueryEscape(query))
		if err != nil {
			body = err.Error()
			return false
		}
		defer answer.Body.Close()
		var whole json.RawMessage
		if err := json.NewDecoder(answer.Body).Decode(&whole); err != nil {
			body = err.Error()
			return false
		}
		body = string(whole)
		found := value.FindAllStringSubmatch(body, -1)
		if found == nil {
			return false
		}
		var got float64
		_, err = fmt.Sscan(found[len(found)-1][1], &got)
		return err == nil && got == want
	}, func() string { return fmt.Sprintf("%s: %s, not %v", query, body, want) })
}
