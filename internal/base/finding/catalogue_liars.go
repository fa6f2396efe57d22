package finding

// SharedLiar: another arm's trials show that a server lies which this arm uses too.
const SharedLiar Code = "server-lies-to-others"

var _ = register(
	Entry{Example: SharedLiarParams{At: example, Server: "127.0.0.1:6379", Liar: "redis-lean",
		Faults: []string{"lost-values", "stale-values"}}, Severity: Grave,
		Also: []Parameters{SharedLiarParams{At: example, Liar: "bbolt (A/A)", Faults: []string{"lost-values"}}},
		Says: `{{.arm}} has no rank in {{.place}}: {{if has .server}}it uses the server at {{clean .server}}, and the trials of {{.liar}} show ` +
			`that this server{{else}}the trials of {{.liar}}, the same store, show that it{{end}} can't be trusted ({{join .faults}}).`,
		Many:   `{{list .Arms}} have no rank in {{places .Places}}: they use a server or a store that can't be trusted, as trials of other arms show.`,
		Remedy: "look at the faults of the arm that is named; measure again on another server, or with another store"},
)

// SharedLiarParams is of an arm that shares a server with Liar.
type SharedLiarParams struct {
	At
	Server string `param:"omitempty"` // "": Liar is the A/A arm of the same store
	Liar   string
	Faults []string // codes of the liar's faults
}

func (SharedLiarParams) code() Code { return SharedLiar }
