package finding

// SharedLiar: another arm's trials show that a server lies which this arm uses too.
const SharedLiar Code = "server-lies-to-others"

var _ = register(
	Entry{Example: SharedLiarParams{At: example, Server: "127.0.0.1:6379", Liar: "redis-lean",
		Faults: []string{"lost-values", "stale-values"}}, Severity: Grave,
		Says: `{{.arm}} has no rank in {{.place}}: it uses the server at {{clean .server}}, and the trials of {{.liar}} show that this server ` +
			`can't be trusted ({{join .faults}}).`,
		Many:   `{{list .Arms}} have no rank in {{list .Places}}: they use a server that can't be trusted, as trials of other arms show.`,
		Remedy: "look at the faults of the arm that is named; measure again on another server"},
)

// SharedLiarParams is of an arm that shares a server with Liar.
type SharedLiarParams struct {
	At
	Server, Liar string
	Faults       []string // codes of the liar's faults
}

func (SharedLiarParams) code() Code { return SharedLiar }
