package record

import (
	"slices"
	"strings"
)

// Server is the server that Assay has started for a trial, or the several that make its store.
type Server struct {
	Binary string `json:"binary"` // its path
	// What the binary tells to be: "valkey". "": of a run that is older than the field.
	Product string `json:"product,omitempty"`
	Version string `json:"version"`          // as the binary reports it
	SHA256  string `json:"sha256,omitempty"` // of the binary; "": of a run that is older than the field
	Commit  string `json:"commit,omitempty"` // of which Assay built it; "": it did not
	// All that can be set: given, of the class, or by default.
	Options map[string]string `json:"options,omitempty"`
	Members []ServerMember    `json:"members"` // in the order of the driver's endpoints
}

// ServerMember is one of the servers that make a store.
type ServerMember struct {
	Endpoint     string            `json:"endpoint"`           // where it listens
	Settings     map[string]string `json:"settings,omitempty"` // as it reported them once it answered
	StartSeconds float64           `json:"start_seconds"`      // from its start until it answered
	Replica      bool              `json:"replica,omitempty"`  // it follows the first
}

// Settings are those that the servers reported: a value that is not the same in all is listed for each,
// in their order.
func (s *Server) Settings() map[string]string {
	all := map[string]string{}
	for _, m := range s.Members {
		for name := range m.Settings {
			all[name] = s.told(name)
		}
	}
	return all
}

func (s *Server) told(name string) string {
	values := make([]string, len(s.Members))
	for n, m := range s.Members {
		values[n] = m.Settings[name]
	}
	if same := slices.Compact(slices.Clone(values)); len(same) == 1 {
		return same[0]
	}
	return strings.Join(values, ", ")
}
