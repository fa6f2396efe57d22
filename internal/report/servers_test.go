package report

import (
	"strings"
	"testing"

	"assay/internal/record"
)

func TestWhoseMemoryAServersIsIsTold(t *testing.T) {
	client, server := uint64(30e6), uint64(240e6)
	oak := Row{Arm: "oak", Rate: &Estimate{Value: 1}}
	for _, c := range []struct {
		name string
		p    record.Process
		want []string // parts; none: nothing is said
	}{
		{"embedded", record.Process{RSSMaxBytes: &client}, nil},
		{"server", record.Process{RSSMaxBytes: &client, ServerRSSMaxBytes: &server}, []string{"of oak", "240 MB are the server's and 30.0 MB the client's"}},
		{"shares memory", record.Process{RSSMaxBytes: &client, ServerRSSMaxBytes: &server, ServerSharedWhy: "it may not be read"}, []string{"240 MB", "Memory that the processes of oak share counts once for each, but for shared memory: it may not be read."}},
		{"unseen server", record.Process{RSSMaxBytes: &client, ServerWhy: "it is far away"}, []string{"Memory and CPU per operation of oak, a server, are not measured: it is far away."}},
		{"a process ended", record.Process{RSSMaxBytes: &client, ServerRSSMaxBytes: &server, ServerWhy: "one ended"}, []string{"240 MB", "CPU per operation, in part, of oak, a server, are not measured: one ended."}},
	} {
		text := serversText([]Row{oak}, [][]*record.Phase{{{Process: c.p}}})
		if len(c.want) == 0 && text != "" {
			t.Errorf("%s: %q", c.name, text)
		}
		for _, part := range c.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q lacks %q", c.name, text, part)
			}
		}
	}
}

func TestWhoseMemoryAServersIsIsShown(t *testing.T) {
	v := exampleView(t)
	v.Tables[0].Servers = "It is of the moon."
	if !strings.Contains(textOfView(t, v), v.Tables[0].Servers) {
		t.Error("not on the terminal")
	}
	if !strings.Contains(htmlOf(t, v), " "+v.Tables[0].Servers+"</p>") {
		t.Error("not on the page")
	}
}

func TestTheBarsOfMemorySayWhoseItIs(t *testing.T) {
	const want = "of the worker process and of the server, where there is one: the largest resident set of each in the phase, mean over blocks"
	if !strings.Contains(htmlOf(t, exampleView(t)), want) {
		t.Errorf("the page lacks %q", want)
	}
}
