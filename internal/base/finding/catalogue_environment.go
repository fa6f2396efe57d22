package finding

// What is known of the machine and of servers: the values of facts, whose names are headings.
const (
	FactUnknown     Bare = "environment unknown"
	FactNotMeasured Bare = "environment not-measured"
)

var _ = register(
	Entry{Example: FactUnknown, Says: "unknown"},
	Entry{Example: FactNotMeasured, Says: "not measured"},
	Entry{Example: FactServerParams{Program: "/usr/bin/redis-server", Version: "7.0.15", Servers: 3, SHA256: "6d1c57cc", Commit: "1a2b3c4"},
		Says: `{{.program}} {{.version}}, {{if .servers}}{{.servers}} {{end}}started by Assay{{with .sha256}}; SHA-256 {{.}}{{end}}{{with .commit}}; built of commit {{.}}{{end}}`},
	Entry{Example: FactSyncParams{MedianNS: 870e3}, Says: `{{latency .median_ns}} (median)`},
	Entry{Example: FactCompressedParams{Share: 0.5}, Says: `{{percent .share}} of their size`},
	Entry{Example: FactOverheadParams{Percent: 0.31}, Says: `{{printf "%.2f" .percent}} % of one core`},
	Entry{Example: FactFileSystemParams{FileSystem: "ext4", Loop: true, Bytes: 64 << 20, UsableBytes: 54 << 20},
		Says: `{{.file_system}} {{if .loop}}over a loop device{{else}}in memory{{end}}, {{limit .bytes}}, {{bytes .usable_bytes}} usable`},
)

// FactServerParams are of a server that Assay started; Servers says of how many, where they are several.
type FactServerParams struct {
	Program, Version string
	Servers          int    `param:"omitempty"`
	SHA256, Commit   string `param:"omitempty"`
}

func (FactServerParams) code() Code { return "environment server" }

type FactSyncParams struct{ MedianNS float64 }

func (FactSyncParams) code() Code { return "environment sync" }

// FactCompressedParams are of what a compressor leaves of values.
type FactCompressedParams struct{ Share float64 }

func (FactCompressedParams) code() Code { return "environment compressed" }

// FactOverheadParams are of the CPU time that sampling took.
type FactOverheadParams struct{ Percent float64 }

func (FactOverheadParams) code() Code { return "environment overhead" }

type FactFileSystemParams struct {
	FileSystem         string
	Loop               bool
	Bytes, UsableBytes uint64
}

func (FactFileSystemParams) code() Code { return "environment file-system" }
