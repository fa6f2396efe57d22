// Command bench prints what the harness itself costs: per operation and by part, at one and two
// threads, with and without the verification of reads; and what is left of a bare loop's rate on
// real engines. `make bench` runs it; `make bench-servers` prints what clients of servers cost.
//
// Every figure is a median over rounds that take turns, so that what the machine does meanwhile
// falls on all of them alike. Workers run in processes of their own (this program, started again),
// and so do bare loops (a program for each engine, which links no more than it needs).
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"assay/drivers"
	"assay/worker"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		os.Exit(worker.MainLinked(drivers.All()...))
	}
	rounds := flag.Int("rounds", 7, "rounds of each pair")
	seconds := flag.Float64("seconds", 1, "length of each round")
	only := flag.String("only", "", "only the whole loop on the null driver (`null`), how reports grow (growth), this engine's bare loops, or this server or peer")
	servers := flag.Bool("servers", false, "the CPU time of clients of servers, beside that of other clients")
	parts := flag.String("parts", "table,growth,late,stops", "what -servers prints: the table, how time grows with connections, how late an open load is, what stops of the server do to it; and `peers`, rates and client CPU time beside pgbench, sysbench and redis-benchmark")
	placed := flag.String("placement", "", "only this placement of peers: anywhere, `one CPU` or a CPU each; \"\": all")
	connections := flag.Int("connections", 0, "only the rows of -servers' table for so many connections; 0: all")
	flag.Parse()
	length := time.Duration(*seconds * float64(time.Second))
	if *servers {
		exit(printServers(*rounds, *only, *parts, *placed, *connections))
	}
	if *only == "growth" {
		exit(printReports())
	}
	if *only == "null" {
		exit(printLoops(*rounds, length))
	}
	if *only != "" {
		exit(printBare(*rounds, length, *only))
	}
	fmt.Println("Parts of an operation (ns over all threads, median; 16-byte key, 100-byte value)")
	printParts()
	fmt.Println("\nThe whole loop on the null driver (ns an operation in all, median)")
	if err := printLoops(*rounds, length); err != nil {
		exit(err)
	}
	fmt.Println("\nHow reports and histories grow (CPU time; exponent from the first to the last size, 1 is linear)")
	if err := printReports(); err != nil {
		exit(err)
	}
	fmt.Println("\nBeside a bare loop in a process of its own (one thread, 100,000 records, no sync; median of rounds, 95 % interval)")
	exit(printBare(*rounds, length, ""))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
