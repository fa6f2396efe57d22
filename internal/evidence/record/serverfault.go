package record

// ServerFault is something that Assay did to one of the servers under test while a phase ran.
type ServerFault struct {
	At float64 `json:"t"` // seconds since the phase began
	// What it is: kill, freeze, cut, delay, bandwidth, reset, drop_connections, memory, cpu, slow_disk, or
	// start, which undoes them.
	Does    string  `json:"does"`
	Amount  string  `json:"amount,omitempty"` // how much of it: "20ms ± 5ms", "512 MiB"
	Node    int     `json:"node"`             // from 1, in the order of the endpoints
	Undoes  string  `json:"undoes,omitempty"` // of a start: what it undoes
	Seconds float64 `json:"s"`                // that it took: of a start, until the server answered
	After   bool    `json:"after,omitempty"`  // the phase had ended
	Error   string  `json:"error,omitempty"`  // why it did not work
}
