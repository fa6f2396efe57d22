package read

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// SetRecords changes the number of records that the file gives, where a layout took another.
func (l *Loaded) SetRecords(records uint64) {
	if n := l.root.field("records"); n != nil {
		n.kind, n.text, n.items = scalar, strconv.FormatUint(records, 10), nil
	}
}

// File writes the experiment as a file that says the same: changes applied, comments and scales
// gone.
func (l *Loaded) File() []byte {
	var b bytes.Buffer
	for _, e := range l.root.entries {
		if e.key == "scale" || e.key == "scales" {
			continue // what was chosen is applied
		}
		switch {
		case e.value.kind == list && hasTables(e.value):
			fmt.Fprintf(&b, "%s:\n", yamlText(e.key, false))
			for _, item := range e.value.items {
				fmt.Fprintf(&b, "  - %s\n", flow(item))
			}
		case e.key == "about" && strings.Contains(e.value.text, "\n"):
			text := strings.TrimRight(e.value.text, "\n")
			fmt.Fprintf(&b, "about: |\n  %s\n", strings.ReplaceAll(text, "\n", "\n  "))
		default:
			fmt.Fprintf(&b, "%s: %s\n", yamlText(e.key, false), flow(e.value))
		}
	}
	return b.Bytes()
}

func hasTables(n *node) bool {
	for _, item := range n.items {
		if item.kind == table {
			return true
		}
	}
	return false
}
