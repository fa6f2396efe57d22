package agents

import (
	"cmp"
	"os/exec"
	"slices"
)

// DefaultImage is the image that make dist makes.
const DefaultImage = "assay:latest"

// launchDocker starts an agent in a container on this machine. Its network is the machine's, so that it
// reaches the conductor's NATS server and the stores that are on loopback.
func launchDocker(h *Hub) (*exec.Cmd, string, error) {
	command := slices.Clone(h.Docker)
	if len(command) == 0 {
		command = []string{"docker"}
	}
	command = append(command, "run", "--rm", "--interactive", "--network", "host", cmp.Or(h.Image, DefaultImage), "agent", "--invited")
	return exec.Command(command[0], command[1:]...), h.Server, nil
}
