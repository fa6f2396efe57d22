package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
	"assay/internal/testkit/chromium"
	"assay/internal/testkit/hostile"
	"assay/internal/testkit/recordtest"
	"assay/store"

	"github.com/chromedp/chromedp"
)

func TestMain(m *testing.M) { chromium.Main(m) }

// growing is a run directory in folder, the run that it will hold, and what writes it.
func growing(t *testing.T, folder, name string) (*record.Run, *record.Writer) {
	t.Helper()
	run := recordtest.Run(recordtest.Shape{Name: name, Classes: []store.Durability{store.D1}, Blocks: 2,
		Seconds: 12, Seed: 1, Ceiling: true,
		Arms: []recordtest.Arm{{Name: "pebble", PutRate: 4e5, GetRate: 6e5, Noise: 0.1}, {Name: "bbolt", PutRate: 4e4, GetRate: 1e6, Noise: 0.1}}})
	w, err := record.Create(filepath.Join(folder, "run"), run.Source, &run.Experiment, run.Plan, run.Environment)
	must(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return run, w
}

// write writes a trial: its samples up to a count, and its result if that is all.
func write(t *testing.T, run *record.Run, w *record.Writer, id string, samples int) {
	t.Helper()
	trial, err := w.TrialStarted(id)
	must(t, err)
	series := run.InMemory[id]
	for _, s := range series[:min(samples, len(series))] {
		must(t, trial.Sample(s))
	}
	if samples >= len(series) {
		must(t, trial.End(run.Trials[id]))
	}
}

func serving(t *testing.T, directories ...string) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", directories)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// get asks by a Host; "": the address's own.
func get(t *testing.T, address, host string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, address, nil)
	must(t, err)
	r.Host = host
	response, err := http.DefaultClient.Do(r)
	must(t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, string(data)
}

func progressOf(t *testing.T, address string) (p progress) {
	t.Helper()
	status, body := get(t, address+"progress", "")
	if status != http.StatusOK {
		t.Fatalf("progress: %d %s", status, body)
	}
	must(t, json.Unmarshal([]byte(body), &p))
	return p
}

func TestRunIsFollowedUntilItsReport(t *testing.T) {
	folder := t.TempDir()
	run, w := growing(t, folder, "grows")
	s := serving(t, folder)
	address := s.URL() + "run/" + runKey(t, s) + "/"

	if _, body := get(t, s.URL(), ""); !strings.Contains(body, "grows") || !strings.Contains(body, "goes on") || !strings.Contains(body, "0 of 6") {
		t.Errorf("the list does not show a run that goes on:\n%s", body)
	}
	if p := progressOf(t, address); !p.Writing || p.Done != 0 || p.Of != 6 || p.Now != "" {
		t.Errorf("before the first trial: %+v", p)
	}
	first, second := run.Plan[0].ID, run.Plan[1].ID
	write(t, run, w, first, 1000)
	write(t, run, w, second, 5)
	p := progressOf(t, address)
	if p.Done != 1 || p.Now != second || p.Trials[0].State != "ok" || len(p.Phases) != 2 {
		t.Errorf("in the second trial: %+v", p)
	}
	put := run.Trials[first].Phases[1]
	if want := float64(put.Operations[0].OK) / (float64(put.ElapsedNS) / 1e9); p.Trials[0].Rates["put"] != want {
		t.Errorf("the first trial's put is shown as %v/s, want %v", p.Trials[0].Rates["put"], want)
	}
	var series points
	_, body := get(t, address+"samples/"+second+"?from=0", "")
	must(t, json.Unmarshal([]byte(body), &series))
	if len(series.At) != 5 || len(series.Rate) != 5 || series.Phase[0] != "load" || series.Next == 0 {
		t.Errorf("of five samples came %+v", series)
	}
	if status, body := get(t, address+"samples/"+second+"?from=x", ""); status != http.StatusBadRequest || !strings.Contains(body, "expected") {
		t.Errorf("from=x gives %d %q", status, body)
	}
	if _, page := get(t, address, ""); !strings.Contains(page, "/live.js") {
		t.Error("a run that goes on is not shown live")
	}

	must(t, w.Event(record.EventInterrupted, "", "SIGINT"))
	must(t, w.Close())
	if _, body := get(t, s.URL(), ""); !strings.Contains(body, "interrupted") {
		t.Errorf("the list does not show the interruption:\n%s", body)
	}
	_, page := get(t, address, "")
	if !strings.Contains(page, "Content-Security-Policy") || strings.Contains(page, "/live.js") {
		t.Errorf("after the end no report is served: %.300s", page)
	}
	if status, _ := get(t, address+"trials/"+first+"/trial.json", ""); status != http.StatusOK {
		t.Errorf("the report's link to a trial gives %d", status)
	}
}

func runKey(t *testing.T, s *Server) string {
	t.Helper()
	runs := s.find()
	if len(runs) != 1 {
		t.Fatalf("%d runs were found", len(runs))
	}
	return runs[0].Key
}

// A page of somebody else's, whose name leads to the loopback, gets nothing; nor does who asks for
// what no run directory holds. Nothing is written.
//
// Fault (watchers): an address of `assay serve` leads out of the runs, or a file in a run directory
// is a link
// Assay: not found
// With: record.TestFollowStaysInTheRun
func TestOnlyRunsAreServed(t *testing.T) {
	folder := t.TempDir()
	run, w := growing(t, folder, "closed")
	write(t, run, w, run.Plan[0].ID, 1000)
	must(t, os.WriteFile(filepath.Join(folder, "secret.txt"), []byte("secret"), 0o600))
	must(t, os.WriteFile(filepath.Join(w.Directory(), "trials", run.Plan[0].ID, "secret.txt"), []byte("secret"), 0o600))
	before := listing(t, folder)
	s := serving(t, folder, folder, filepath.Join(folder, "run")) // named twice, found once
	key := runKey(t, s)
	for host, want := range map[string]int{"": 200, "localhost:1": 200, "127.0.0.1": 200, "[::1]:80": 200, "evil.example": 403, "evil.example:8123": 403, "10.0.0.1": 403, "localhost.evil.example": 403} {
		if status, body := get(t, s.URL(), host); status != want || status == 403 && strings.Contains(body, "closed") {
			t.Errorf("Host %q gets %d, want %d", host, status, want)
		}
	}
	trial := run.Plan[0].ID
	for _, path := range []string{
		"run/" + key + "/trials/" + trial + "/secret.txt", "run/" + key + "/trials/%2e%2e/secret.txt", "run/" + key + "/trials/..%2f..%2f/secret.txt",
		"run/" + key + "/trials/" + trial + "/..%2f..%2f..%2f..%2fsecret.txt", "run/%2e%2e/progress", "run//progress", "run/..%2f..%2f/", "secret.txt", "run/" + key + "/experiment.json",
		"run/" + key + "/samples/..%2f..%2fsecret.txt?from=0",
	} {
		if status, body := get(t, s.URL()+path, ""); status == http.StatusOK || strings.Contains(body, "secret\n") || body == "secret" {
			t.Errorf("%s gives %d %q", path, status, body)
		}
	}
	response, err := http.Post(s.URL(), "text/plain", strings.NewReader("x"))
	must(t, err)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a POST gets %s", response.Status)
	}
	if after := listing(t, folder); after != before {
		t.Errorf("serving changed files:\n%s\nwere\n%s", after, before)
	}
}

func listing(t *testing.T, folder string) string {
	t.Helper()
	var list strings.Builder
	must(t, filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				list.WriteString(path + " " + info.Mode().String() + " " + info.ModTime().String() + "\n")
			}
		}
		return err
	}))
	return list.String()
}

// The live page in a browser: it grows with the run, and becomes the report when the run ends.
func TestLivePageInABrowser(t *testing.T) {
	folder := t.TempDir()
	run, w := growing(t, folder, "grows "+hostile.Text)
	write(t, run, w, run.Plan[0].ID, 1000)
	write(t, run, w, run.Plan[1].ID, 1000)
	last := run.Plan[2].ID
	write(t, run, w, last, 10)
	s := serving(t, folder)
	page := chromium.Open(t, s.URL()+"run/"+runKey(t, s)+"/")
	await(page, `document.querySelectorAll(".watch canvas").length === 4`)
	await(page, `document.querySelectorAll("#trials tr").length === 6`)
	if text := chromium.JS[string](page, `document.getElementById("now").textContent`); !strings.HasPrefix(text, "Trial 3 of 6: ") {
		t.Errorf("the page says %q", text)
	}
	if marked := chromium.JS[int](page, `[...document.querySelectorAll("#trials tr")].findIndex((e) => e.ariaCurrent)`); marked != 2 {
		t.Errorf("the trial under way is marked as row %d", marked)
	}
	const picture = `document.querySelector("[data-series=rate] canvas").toDataURL()`
	before := chromium.JS[string](page, picture)
	series, err := os.OpenFile(filepath.Join(w.Directory(), "trials", last, "series.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	defer series.Close()
	for _, sample := range run.InMemory[last][10:] {
		line, err := json.Marshal(sample)
		must(t, err)
		_, err = series.Write(append(line, '\n'))
		must(t, err)
	}
	await(page, picture+` !== `+quoted(before))
	for _, width := range []int64{1280, 390} {
		page.Do(chromedp.EmulateViewport(width, 900), chromedp.Reload())
		await(page, `document.querySelectorAll(".watch canvas").length === 4`)
		if wide := chromium.JS[int](page, `document.documentElement.scrollWidth`); wide > int(width) {
			t.Errorf("on a screen of %d pixels the page is %d wide", width, wide)
		}
		if folder := os.Getenv("ASSAY_SCREENSHOTS"); folder != "" {
			must(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("live-%d.png", width)), page.Screenshot(), 0o644))
		}
	}
	must(t, w.Event(record.EventInterrupted, last, "SIGINT"))
	must(t, w.Close())
	await(page, `document.querySelector("script[src]") === null && document.querySelector(".plot") !== null`)
	page.Quiet(func(address string) bool { return strings.HasPrefix(address, s.URL()) })
}

// The list of runs and the page of one that goes on break no rule of accessibility.
func TestServedPagesAreAccessible(t *testing.T) {
	folder := t.TempDir()
	run, w := growing(t, folder, "grows")
	for _, planned := range run.Plan[:3] {
		write(t, run, w, planned.ID, 10)
	}
	s := serving(t, folder)
	for name, wanted := range map[string]struct{ path, shows string }{
		"list": {"", `document.querySelector("tbody a") !== null`},
		"live": {"run/" + runKey(t, s) + "/", `document.querySelectorAll(".watch canvas").length === 4`},
	} {
		t.Run(name, func(t *testing.T) {
			page := chromium.Open(t, s.URL()+wanted.path)
			await(page, wanted.shows)
			page.Accessible()
		})
	}
	must(t, w.Close())
}

// await waits until an expression holds.
func await(page *chromium.Page, expression string) {
	page.T.Helper()
	for {
		page.T.Helper()
		if holds, err := chromedp.Run(page.Context, chromedp.Evaluate[bool](expression)); err == nil && holds {
			return
		}
		if page.Context.Err() != nil {
			page.T.Fatalf("it never came: %s", expression)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func quoted(text string) string {
	data, _ := json.Marshal(text) // a string always is JSON
	return string(data)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// While a page is made, which may take a minute, the list, other pages and files are there.
func TestSlowPageHoldsUpNothing(t *testing.T) {
	folder := t.TempDir()
	run, w := growing(t, folder, "slow")
	write(t, run, w, run.Plan[0].ID, 1000)
	s := serving(t, folder)
	key := runKey(t, s)
	s.memory <- struct{}{} // a page is being made
	for _, path := range []string{"", "run/" + key + "/", "run/" + key + "/progress", "run/" + key + "/trials/" + run.Plan[0].ID + "/trial.json", "page.css"} {
		if status, _ := get(t, s.URL()+path, ""); status != http.StatusOK {
			t.Errorf("%q: %d", path, status)
		}
	}
	must(t, w.Close())
	page := make(chan string)
	go func() {
		_, body := get(t, s.URL()+"run/"+key+"/", "")
		page <- body
	}()
	if status, _ := get(t, s.URL(), ""); status != http.StatusOK {
		t.Errorf("the list beside a page that waits: %d", status)
	}
	<-s.memory
	if body := <-page; !strings.Contains(body, "slow") {
		t.Error("the page that waited was not made")
	}
}

// A run directory that was damaged in any way is shown as far as it goes, or said to be none; the list is
// there, and no request goes without an answer.
func TestRunDirectoriesThatAreDamagedAreServed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	run, w := growing(t, folder, "damaged")
	for _, p := range run.Plan {
		write(t, run, w, p.ID, 1000)
	}
	must(t, w.Event(record.EventEnded, "", ""))
	must(t, w.Close())
	shown := 0
	for seed := range recordtest.DamagesOf() {
		place := filepath.Join(t.TempDir(), "runs")
		must(t, os.CopyFS(filepath.Join(place, "run"), os.DirFS(filepath.Join(folder, "run"))))
		what := recordtest.Damage(t, filepath.Join(place, "run"), seed)
		s := serving(t, place)
		if status, _ := get(t, s.URL(), ""); status != http.StatusOK {
			t.Errorf("%d: %s: the list gives %d", seed, what, status)
		}
		for _, found := range s.find() {
			for _, path := range []string{"", "progress", "trials/" + run.Plan[0].ID + "/trial.json", "samples/" + run.Plan[0].ID + "?from=0"} {
				status, body := get(t, s.URL()+"run/"+found.Key+"/"+path, "")
				if status != http.StatusOK && body == "" {
					t.Errorf("%d: %s: %q gives %d, and no reason", seed, what, path, status)
				}
				if path == "" && status == http.StatusOK {
					shown++
				}
			}
		}
		must(t, os.RemoveAll(place))
	}
	if shown == 0 {
		t.Error("no page was shown: the test looks at nothing")
	}
	t.Logf("%d pages shown", shown)
}

// The stores of each phase are ordered by the geometric mean of their good trials; what is left takes as long
// as the trials of its arm did.
func TestRankingSoFarAndTimeLeft(t *testing.T) {
	t.Parallel()
	one := func(arm string, hue int, state record.State, rate float64) oneTrial {
		return oneTrial{Arm: arm, Hue: hue, State: string(state), Rates: map[string]float64{"put": rate}}
	}
	got := rankingOf([]oneTrial{one("elm", 0, record.OK, 100), one("oak", 1, record.OK, 900), one("elm", 0, record.OK, 400), one("oak", 1, record.Marked, 1),
		one("null", -1, record.OK, 1e6), one("fir", 2, "", 0)}, []string{"put", "get"})
	want := []soFar{{Phase: "put", Stores: []storeSoFar{{"oak", 900, 1}, {"elm", 200, 2}}}}
	for i := range got {
		for k := range got[i].Stores {
			got[i].Stores[k].Rate = math.Round(got[i].Stores[k].Rate)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	p := &record.Progress{Plan: []plan.Trial{{ID: "1", Arm: "elm"}, {ID: "2", Arm: "oak"}, {ID: "3", Arm: "elm"}, {ID: "4", Arm: "oak"}, {ID: "5", Arm: "fir"}}}
	if left := secondsLeft(p); left != nil {
		t.Errorf("%v s are left of a run of which nothing is known", *left)
	}
	at := time.Unix(1e9, 0)
	for _, e := range []struct {
		id   string
		took time.Duration
	}{{"1", 10 * time.Second}, {"2", 30 * time.Second}} {
		p.Events = append(p.Events, record.Event{At: at, Kind: record.EventTrialStarted, Trial: e.id},
			record.Event{At: at.Add(e.took), Kind: record.EventTrialEnded, Trial: e.id, Text: string(record.OK)})
	}
	if left := secondsLeft(p); left == nil || *left != 10+30+20 {
		t.Errorf("%v s are left, want 60", left)
	}
}
