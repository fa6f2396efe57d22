package read

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/experiment"
)

// cells expands the matrix. Cases are outermost; then the axes nest in their order.
func (r *resolver) cells() *Error {
	base := make([][]value, len(fileAxes))
	for i, a := range fileAxes {
		base[i] = a.given(r)
	}
	if len(r.file.Cases) == 0 {
		return r.expand("", base, nil)
	}
	if err := r.uselessAxes(); err != nil {
		return err
	}
	names := map[string]bool{}
	for i, c := range r.file.Cases {
		at := []string{"cases", fmt.Sprint(i)}
		if c.Name == "" {
			return r.fail(at, "a case without a name").hint("expected name: NAME")
		}
		if len(c.Name) > nameBytesMax || !plainName(c.Name) {
			return r.fail(append(at, "name"), "the name %q can't be part of a file name", c.Name).hint(plainNameRule)
		}
		if names[c.Name] {
			return r.fail(append(at, "name"), "a second case named %q", c.Name)
		}
		names[c.Name] = true
		own := slices.Clone(base)
		for _, change := range c.Changes {
			path := join("cases."+c.Name, change.path)
			if change.path == "values.bytes" && r.file.Values.Sizes.count()+len(r.file.Values.Columns) > 0 {
				return change.at.fail(path, "values have one of bytes, sizes and columns")
			}
			for k, a := range fileAxes {
				if a.Path != change.path || change.value.kind == null {
					continue
				}
				var err *Error
				if own[k], err = a.decode(change.value, path); err != nil {
					return err
				}
			}
		}
		if err := r.expand(c.Name, own, at); err != nil {
			return err
		}
	}
	return nil
}

// uselessAxes refuses a parameter that every case sets anyway: a value in the file, in a scale or by
// --set would have no effect.
func (r *resolver) uselessAxes() *Error {
	for _, path := range axisPaths() {
		inAll := true
		for _, c := range r.file.Cases {
			inAll = inAll && slices.ContainsFunc(c.Changes, func(c change) bool { return c.path == path })
		}
		n, parts := r.root, axisParts(path, nil)
		for _, part := range parts {
			if n != nil {
				n = n.field(part)
			}
		}
		if inAll && n != nil {
			return r.fail(parts, "%s has no effect: every case sets it", path).
				hint("change the cases instead, such as cases.%s.%s, or leave it out", r.file.Cases[0].Name, path)
		}
	}
	return nil
}

// expand adds the cells of a case, which stands at at, or those of a file without cases.
func (r *resolver) expand(name string, values [][]value, at []string) *Error {
	cells := []experiment.Cell{{Case: name}}
	for i, a := range fileAxes {
		parts := axisParts(a.Path, at)
		if len(cells)*len(values[i])+len(r.e.Cells) > cellsMax {
			return r.fail(parts, "the matrix has more than %d cells", cellsMax).hint("shorten a list: each one multiplies the others")
		}
		seen := map[string]bool{}
		var next []experiment.Cell
		for _, set := range values[i] {
			var c experiment.Cell
			set(&c)
			if a.refuse != nil {
				if err := a.refuse(r, parts, c); err != nil {
					return err
				}
			}
			text := a.Text(c)
			if seen[text] {
				return r.fail(parts, "%s lists %s twice", a.Path, text)
			}
			seen[text] = true
		}
		for _, c := range cells {
			for _, set := range values[i] {
				cell := c // a value that sets one field must not meet what another value set
				set(&cell)
				next = append(next, cell)
			}
		}
		cells = next
	}
	if err := r.threadsHaveRecords(cells); err != nil {
		return err
	}
	r.e.Cells = append(r.e.Cells, cells...)
	return nil
}

// axisParts is where an axis stands: in the case, if at names one, or at the top of the file.
func axisParts(path string, at []string) []string {
	if at != nil {
		return append(slices.Clone(at), path)
	}
	return strings.Split(path, ".")
}

// threadsHaveRecords refuses orders that part the records between the threads where there are fewer
// records than threads.
func (r *resolver) threadsHaveRecords(cells []experiment.Cell) *Error {
	for p, in := range r.parts() {
		if p.Load || onlyInserts(p.Mix) || p.Order.Distribution != "sequential" && p.Order.Distribution != "shuffled" {
			continue
		}
		for _, c := range cells {
			threads := uint64(max(p.ThreadsIn(c), 1))
			if c.Records >= threads {
				continue
			}
			return r.fail(in("order"), "the order %s divides the records among the threads: %d records are too few for %d threads",
				p.Order.Distribution, c.Records, threads).hint("use fewer threads, more records, or another order")
		}
	}
	return nil
}
