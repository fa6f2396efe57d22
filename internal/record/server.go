package record

// Server is the server that Assay has started for a trial.
type Server struct {
	Binary       string            `json:"binary"`
	Version      string            `json:"version"`
	Endpoint     string            `json:"endpoint"`
	Options      map[string]string `json:"options,omitempty"`  // all that can be set
	Settings     map[string]string `json:"settings,omitempty"` // as the server told them once it answered
	StartSeconds float64           `json:"start_seconds"`      // from its start until it answered
}
