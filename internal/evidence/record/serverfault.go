package record

// ServerFault is something that Assay did to one of the servers under test while a phase ran.
type ServerFault struct {
	At      float64 `json:"t"`                // seconds since the phase began
	Does    string  `json:"does"`             // one of experiment's: kill, freeze, cut, delay …, or start, which undoes them
	Amount  string  `json:"amount,omitempty"` // how much of it: "20ms ± 5ms", "512 MiB"
	Node    int     `json:"node"`             // from 1, in the order of the endpoints
	Undoes  string  `json:"undoes,omitempty"` // of a start: what
	Seconds float64 `json:"s"`                // that it took: of a killed server's start until it answered
	After   bool    `json:"after,omitempty"`  // the phase had ended
	Error   string  `json:"error,omitempty"`  // why it did not work
}
