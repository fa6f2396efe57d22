package read

import _ "embed"

//go:embed template.yaml
var template []byte

// Template returns the commented example that `assay init` writes. It names every field of the
// file.
func Template() []byte { return append([]byte(nil), template...) }
