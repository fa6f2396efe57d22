package finding

// What stands on the one screen besides the answer: machine and versions.
var _ = register(
	Entry{Example: MachineParams{CPU: "AMD EPYC 7B13", Cores: 2, MemoryBytes: 25.3e9, Device: "nvme0n1 (SSD)", Filesystem: "ext4", Kernel: "Linux 6.1.0"},
		Says: `{{.cpu}}{{if has .cores}} × {{.cores}}{{end}}{{if has .memory_bytes}}, {{bytes .memory_bytes}} of memory{{end}}{{if has .device}}; {{.device}}{{end}}{{if has .filesystem}}, {{.filesystem}}{{end}}{{if has .kernel}}; {{.kernel}}{{end}}.`},
	Entry{Example: AgentsBeganParams{Agents: 4, ApartNS: 21e4, ErrorNS: 3e4},
		Says: `The {{plural .agents "agent" ""}} began within {{latency .apart_ns}}, known to {{latency .error_ns}}.`},
	Entry{Example: VersionsParams{Versions: []string{"bbolt v1.5.0", "pebble v2.1.7"}}, Says: `{{join .versions}}.`},
	Entry{Example: BadgeParams{Values: 460000}, Says: `{{if ge .values 1000000000}}{{number .values}}{{else}}{{count .values}}{{end}} values verified, {{count .lost}} lost{{if .wrong}}, {{count .wrong}} wrong{{end}}{{if .stale}}, {{count .stale}} stale{{end}}`,
		Also: []Parameters{BadgeParams{Values: 3246866206, Lost: 3, Wrong: 2, Stale: 1}}},
)

// MachineParams are what a run was on.
type MachineParams struct {
	CPU                        string
	Cores                      int    `param:"omitempty"`
	MemoryBytes                uint64 `param:"omitempty"`
	Device, Filesystem, Kernel string `param:"omitempty"`
}

func (MachineParams) code() Code { return "machine" }

// AgentsBeganParams say how far apart the agents of a run began a phase at most, and how exactly that is known.
type AgentsBeganParams struct {
	Agents           int
	ApartNS, ErrorNS int64
}

func (AgentsBeganParams) code() Code { return "agents-began" }

// VersionsParams are the libraries and servers that were measured.
type VersionsParams struct{ Versions []string }

func (VersionsParams) code() Code { return "versions" }

// BadgeParams is what of the data was verified, in a few words.
type BadgeParams struct{ Values, Lost, Wrong, Stale uint64 }

func (BadgeParams) code() Code { return "badge" }
