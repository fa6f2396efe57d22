package finding

// Plain is a text as it came: the words of a library, a worker or the kernel, or of the experiment.
// It is cleaned before it is shown.
const Plain Code = "plain"

var _ = register(Entry{Code: Plain, Severity: Notice, Says: "{{clean .text}}", Example: Params{"text": "connection refused"}})
