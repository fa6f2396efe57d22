package host

import (
	"net"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// BenchmarkConnections is the CPU time of counting the worker's connections once. They wait to be
// accepted, so that this process has no descriptors of their other ends.
func BenchmarkConnections(b *testing.B) {
	for _, count := range []int{50, 1000, 10_000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			var endpoints []string
			dial := func(i int) {
				if len(endpoints) <= i/backlogLeast {
					l, err := net.Listen("tcp", "127.0.0.1:0")
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(func() { _ = l.Close() })
					endpoints = append(endpoints, l.Addr().String())
				}
				c, err := net.Dial("tcp", endpoints[i/backlogLeast])
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = c.Close() })
			}
			for i := range count {
				dial(i)
			}
			s := NewSampler("", os.Getpid())
			s.WatchConnections(endpoints)
			c := &s.telemetry.connections
			measure := func(name string, before func()) {
				b.Run(name, func(b *testing.B) {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					var used time.Duration
					for range b.N {
						before()
						began := ThreadCPU()
						v := values{telemetry: &s.telemetry, out: map[string]float64{}}
						s.telemetry.readConnections(v, []int{os.Getpid()})
						used += ThreadCPU() - began
					}
					b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-µs/op")
				})
			}
			measure("first", func() { *c = connections{servers: c.servers} })
			measure("one_new", func() { dial(count); count++ })
			measure("known", func() {})
		})
	}
}

// backlogLeast is how many connections wait to be accepted on any machine.
const backlogLeast = 2000
