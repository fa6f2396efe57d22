package finding

// What stands on the one screen besides the answer: machine and versions.
var _ = register(
	Entry{Example: MachineParams{CPU: "AMD EPYC 7B13", Cores: 2, MemoryBytes: 25.3e9, Device: "nvme0n1 (SSD)", Filesystem: "ext4", Kernel: "Linux 6.1.0"},
		Says: `{{.cpu}}{{if has .cores}} × {{.cores}}{{end}}{{if has .memory_bytes}}, {{bytes .memory_bytes}} of memory{{end}}{{if has .device}}; {{.device}}{{end}}{{if has .filesystem}}, {{.filesystem}}{{end}}{{if has .kernel}}; {{.kernel}}{{end}}.`},
	Entry{Example: VersionsParams{Versions: []string{"bbolt v1.5.0", "pebble v2.1.7"}}, Says: `{{join .versions}}.`},
)

// MachineParams are what a run was on.
type MachineParams struct {
	CPU                        string
	Cores                      int    `param:"omitempty"`
	MemoryBytes                uint64 `param:"omitempty"`
	Device, Filesystem, Kernel string `param:"omitempty"`
}

func (MachineParams) code() Code { return "machine" }

// VersionsParams are the libraries and servers that were measured.
type VersionsParams struct{ Versions []string }

func (VersionsParams) code() Code { return "versions" }
