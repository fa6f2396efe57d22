package read

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on a file, so that none can make Assay run out of memory or stack.
const (
	sourceBytesMax = 64 << 10
	nodesMax       = 20_000 // aliases count each time they are used
	depthMax       = 32
	openMax        = 200 // brackets open at once, or list dashes in one line, as a plain count of characters sees them
)

// node is a piece of YAML with its place: the form in which changes are applied before anything is
// decoded.
type node struct {
	kind    nodeKind
	text    string // of a scalar, as written, quotes removed
	quoted  bool   // a scalar in quotes is text, whatever it looks like
	items   []*node
	entries []entry
	at      place
}

type entry struct {
	key   string
	at    place // of the key
	value *node
}

type nodeKind int

const (
	null nodeKind = iota
	scalar
	list
	table
)

func (k nodeKind) String() string {
	return [...]string{"nothing", "a single value", "a list", "a table"}[k]
}

// field returns the value under a key; nil if there is none.
func (n *node) field(key string) *node {
	for _, e := range n.entries {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// textOf returns the text under a key; "" if there is none.
func (n *node) textOf(key string) string {
	if v := n.field(key); v != nil {
		return v.text
	}
	return ""
}

// set replaces or adds the value of a key; a null takes the key away.
func (n *node) set(key string, at place, value *node) {
	for i, e := range n.entries {
		if e.key != key {
			continue
		}
		if value.kind == null {
			n.entries = append(n.entries[:i:i], n.entries[i+1:]...)
		} else {
			n.entries[i] = entry{key, at, value}
		}
		return
	}
	if value.kind != null {
		n.entries = append(n.entries, entry{key, at, value})
	}
}

// clone copies the node, so that a change to the copy leaves the original alone.
func (n *node) clone() *node {
	c := *n
	c.items = make([]*node, len(n.items))
	for i, item := range n.items {
		c.items[i] = item.clone()
	}
	c.entries = make([]entry, len(n.entries))
	for i, e := range n.entries {
		e.value = e.value.clone()
		c.entries[i] = e
	}
	return &c
}

// parse reads a YAML document. shift is added to the columns of its first line.
func parse(text []byte, in *source, shift int) (root *node, err error) {
	whole := place{in: in}
	if len(text) > sourceBytesMax {
		return nil, whole.fail("", "the file has %d bytes: an experiment has at most %d", len(text), sourceBytesMax)
	}
	if !utf8.Valid(text) {
		return nil, whole.fail("", "the file is not UTF-8 text")
	}
	if err := checkOpen(text, in, shift); err != nil {
		return nil, err
	}
	defer func() {
		if trouble := recover(); trouble != nil { // the parser's own fault, but the user's file: say so
			root, err = nil, whole.fail("", "the file can't be read as YAML: %v", trouble)
		}
	}()
	r := reader{in: in, shift: shift, anchors: map[string]*node{}}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, r.syntaxError(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			return nil, r.placeOf(doc.Body.GetToken()).fail("", "a second YAML document: a file holds one experiment")
		}
		body = doc.Body
	}
	if body == nil {
		return &node{kind: null, at: place{in: in, line: 1, column: 1 + shift, width: 1}}, nil
	}
	root, mistake := r.read(body, 0)
	if mistake != nil {
		return nil, mistake
	}
	return root, nil
}

// checkOpen refuses what nests so deeply that the parser, which takes the square of the depth,
// would need seconds for it. It knows nothing of quotes and comments, so its bound is far above
// depthMax.
func checkOpen(text []byte, in *source, shift int) error {
	open, dashes, line, column := 0, 0, 1, shift
	before := ' '
	for _, c := range string(text) {
		column++
		switch c {
		case '\n':
			line, column, dashes = line+1, 0, 0
		case '[', '{':
			open++
		case ']', '}':
			open = max(0, open-1)
		case ' ':
			if before == '-' {
				dashes++
			}
		case '-':
		default:
			dashes = 0
		}
		before = c
		if open > openMax || dashes > openMax {
			return place{in: in, line: line, column: column, width: 1}.fail("", "nested more than %d levels deep", depthMax)
		}
	}
	return nil
}

// reader turns the parser's tree into nodes.
type reader struct {
	in      *source
	shift   int
	nodes   int
	anchors map[string]*node
}

func (r *reader) syntaxError(err error) *Error {
	var known yaml.Error
	if !errors.As(err, &known) || known.GetToken() == nil {
		return place{in: r.in}.fail("", "the file can't be read as YAML: %v", err)
	}
	e := r.placeOf(known.GetToken()).fail("", "%s", known.GetMessage())
	if strings.Contains(e.text, "\t") || strings.HasPrefix(strings.TrimLeft(r.lineAt(e.Line), " "), "\t") {
		return e.hint("YAML is indented with spaces, never with tabs")
	}
	return e.hint("the file is YAML: \"field: value\" lines, lists as \"- item\" or [a, b], indented with spaces")
}

func (r *reader) lineAt(line int) string {
	if line < 1 || line > len(r.in.lines) {
		return ""
	}
	return r.in.lines[line-1]
}

func (r *reader) placeOf(t *token.Token) place {
	p := place{in: r.in, line: 1, column: 1, width: 1}
	if t == nil || t.Position == nil {
		return p
	}
	p.line, p.column = t.Position.Line, t.Position.Column
	p.width = max(1, utf8.RuneCountInString(t.Value))
	switch t.Type {
	case token.DoubleQuoteType, token.SingleQuoteType:
		p.width += 2
	case token.MappingStartType, token.SequenceStartType, token.MappingValueType, token.SequenceEntryType:
		p.width = 1
	}
	if strings.Contains(t.Value, "\n") {
		p.width = 1
	}
	if p.line == 1 {
		p.column += r.shift
	}
	return p
}

func (r *reader) read(n ast.Node, depth int) (*node, *Error) {
	at := r.placeOf(n.GetToken())
	if depth > depthMax {
		return nil, at.fail("", "nested more than %d levels deep", depthMax)
	}
	if r.nodes++; r.nodes > nodesMax {
		return nil, at.fail("", "more than %d values, aliases included: an experiment is smaller", nodesMax)
	}
	switch n := n.(type) {
	case *ast.NullNode:
		return &node{kind: null, text: n.GetToken().Value, at: at}, nil
	case *ast.MappingNode:
		if len(n.Values) == 1 && n.GetToken().Type != token.MappingStartType {
			return r.read(n.Values[0], depth)
		}
		return r.readTable(n.Values, at, depth)
	case *ast.MappingValueNode:
		if text, at, ok := r.joined(n); ok {
			return &node{kind: scalar, text: text, at: at}, nil
		}
		return r.readTable([]*ast.MappingValueNode{n}, at, depth)
	case *ast.SequenceNode:
		result := &node{kind: list, at: at}
		for _, value := range n.Values {
			item, err := r.read(value, depth+1)
			if err != nil {
				return nil, err
			}
			result.items = append(result.items, item)
		}
		return result, nil
	case *ast.AnchorNode:
		value, err := r.read(n.Value, depth+1)
		if err == nil {
			r.anchors[n.Name.GetToken().Value] = value
		}
		return value, err
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		target, ok := r.anchors[name]
		if !ok {
			return nil, at.fail("", "the alias *%s has no anchor &%s before it", name, name)
		}
		return r.copyAlias(target, at, depth)
	case *ast.TagNode:
		return nil, at.fail("", "YAML tags such as %s are not supported", n.Start.Value)
	case *ast.LiteralNode:
		return &node{kind: scalar, text: n.Value.Value, quoted: true, at: at}, nil
	case *ast.StringNode:
		t := n.GetToken().Type
		quoted := t == token.DoubleQuoteType || t == token.SingleQuoteType
		return &node{kind: scalar, text: n.Value, quoted: quoted, at: at}, nil
	case ast.ScalarNode:
		return &node{kind: scalar, text: n.GetToken().Value, at: at}, nil
	}
	return nil, at.fail("", "%s is not supported in an experiment", strings.ToLower(n.Type().String()))
}

// joined undoes what the parser does to [127.0.0.1:11211]: it reads a table there, where YAML (1.2,
// 7.3.3) reads text, because no space follows the colon.
func (r *reader) joined(n *ast.MappingValueNode) (string, place, bool) {
	key, colon, value := n.Key.GetToken(), n.Start, n.Value.GetToken()
	_, isScalar := n.Value.(ast.ScalarNode)
	if !isScalar || key == nil || colon == nil || value == nil || key.Position == nil || colon.Position == nil ||
		value.Position == nil {
		return "", place{}, false
	}
	for _, t := range []*token.Token{key, value} {
		if t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType ||
			t.Position.Line != colon.Position.Line {
			return "", place{}, false
		}
	}
	at := r.placeOf(key)
	if colon.Position.Column != key.Position.Column+at.width || value.Position.Column != colon.Position.Column+1 || value.Value == "" {
		return "", place{}, false
	}
	at.width += 1 + utf8.RuneCountInString(value.Value)
	return key.Value + ":" + value.Value, at, true
}

func (r *reader) readTable(pairs []*ast.MappingValueNode, at place, depth int) (*node, *Error) {
	result := &node{kind: table, at: at}
	if len(pairs) > 0 && pairs[0].Key.GetToken() != nil {
		if first := r.placeOf(pairs[0].Key.GetToken()); at.width == 1 && pairs[0].Start != nil &&
			at.column > first.column {
			result.at = first // block tables are named by their first key, not by its colon
		}
	}
	var merged []entry // what the table says itself goes before it, wherever the << stands
	for _, pair := range pairs {
		keyAt := r.placeOf(pair.Key.GetToken())
		value, err := r.read(pair.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if pair.Key.IsMergeKey() {
			if value.kind != table {
				return nil, keyAt.fail("", "<< merges a table, not %s", value.kind)
			}
			merged = append(merged, value.entries...)
			continue
		}
		key := pair.Key.GetToken().Value
		if result.field(key) != nil {
			return nil, keyAt.fail("", "%q stands here a second time", key)
		}
		result.entries = append(result.entries, entry{key, keyAt, value})
	}
	for _, e := range merged {
		if result.field(e.key) == nil {
			result.entries = append(result.entries, e)
		}
	}
	return result, nil
}

// copyAlias copies what an alias stands for, counting every value of it: a few lines of aliases of
// aliases would otherwise be millions.
func (r *reader) copyAlias(n *node, at place, depth int) (*node, *Error) {
	if depth > depthMax {
		return nil, at.fail("", "nested more than %d levels deep", depthMax)
	}
	if r.nodes++; r.nodes > nodesMax {
		return nil, at.fail("", "more than %d values, aliases included: an experiment is smaller", nodesMax)
	}
	c := *n
	c.items = make([]*node, len(n.items))
	c.entries = make([]entry, len(n.entries))
	var err *Error
	for i, item := range n.items {
		if c.items[i], err = r.copyAlias(item, at, depth+1); err != nil {
			return nil, err
		}
	}
	for i, e := range n.entries {
		if e.value, err = r.copyAlias(e.value, at, depth+1); err != nil {
			return nil, err
		}
		c.entries[i] = e
	}
	return &c, nil
}

// describe says what a node is, for "got …".
func (n *node) describe() string {
	switch n.kind {
	case scalar:
		return fmt.Sprintf("%q", n.text)
	case null:
		return "nothing"
	}
	return n.kind.String()
}

func (n *node) expected(path, what string) *Error {
	return n.at.fail(path, "expected %s, got %s", what, n.describe())
}
