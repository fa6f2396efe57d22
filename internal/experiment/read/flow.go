package read

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// flow writes a node in YAML's one-line form.
func flow(n *node) string {
	switch n.kind {
	case list:
		items := make([]string, len(n.items))
		for i, item := range n.items {
			items[i] = flow(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case table:
		fields := make([]string, len(n.entries))
		for i, e := range n.entries {
			fields[i] = yamlText(e.key, false) + ": " + flow(e.value)
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case null:
		return "null"
	}
	return yamlText(n.text, n.quoted)
}

var plainYAML = regexp.MustCompile(`^[A-Za-z0-9_.+-]([A-Za-z0-9_./()%+ -]*[A-Za-z0-9_.)%+-])?$`)

// yamlText quotes a text where YAML would read it as something else. What the source had in quotes
// keeps them: a number in quotes is text.
func yamlText(text string, quoted bool) string {
	isNull := strings.EqualFold(text, "null") // a null itself is written by flow
	isMark := text == "-" || strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "---")
	if !quoted && !isNull && !isMark && plainYAML.MatchString(text) {
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b) // JSON's strings are YAML's
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic("read: a text that JSON can't write: " + err.Error())
	}
	return strings.TrimSpace(b.String())
}

func quoteForShell(text string) string {
	if strings.ContainsAny(text, " []{}()*&|;<>$\"'\\\n\t") {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}
