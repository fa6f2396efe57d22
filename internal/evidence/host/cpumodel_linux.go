package host

import (
	"strings"

	"github.com/prometheus/procfs"
)

func cpuModel() string {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return ""
	}
	cpus, err := fs.CPUInfo()
	if err != nil || len(cpus) == 0 {
		return ""
	}
	return strings.TrimSpace(cpus[0].ModelName)
}
