package finding

// Plain is a text as it came: the words of a library, a worker or the kernel, or of the experiment.
// It is cleaned before it is shown.
const Plain Code = "plain"

var _ = register(Entry{Example: PlainParams{Text: "connection refused"}, Severity: Notice, Says: "{{clean .text}}"})

type PlainParams struct{ Text string }

func (PlainParams) code() Code { return Plain }
