package experiment

import (
	"strconv"
	"strings"

	"assay/internal/base/format"
)

// CPUs pins each end of a trial to CPUs of its own. Nil or empty: the kernel places it.
type CPUs struct {
	// Number is how many CPUs were asked for, whichever they are; 0: their numbers were.
	Number int `json:"number,omitempty"`
	// Together: both ends have the same ones, as one list or a number was given.
	Together bool `json:"together,omitempty"`

	Client CPUList `json:"client,omitempty"` // the worker's, whatever the store
	Server CPUList `json:"server,omitempty"` // of a server that Assay starts; another's is never pinned
}

// Text says which CPUs both ends have: "2 CPUs", "CPUs 0-1", "client on CPUs 0, server on CPUs 1-3".
func (c *CPUs) Text() string {
	switch {
	case c == nil:
		return "no choice of CPUs" // the kernel places both: not a parameter then
	case c.Number > 0:
		return format.Plural(c.Number, "CPU", "")
	case c.Together:
		return "CPUs " + c.Client.String()
	}
	var ends []string
	if len(c.Client) > 0 {
		ends = append(ends, "client on CPUs "+c.Client.String())
	}
	if len(c.Server) > 0 {
		ends = append(ends, "server on CPUs "+c.Server.String())
	}
	return strings.Join(ends, ", ")
}

// Of returns the CPUs of what does a store's work: of the server that Assay starts, of others the
// client's; none: the kernel places it.
func (c *CPUs) Of(s Store) CPUList {
	switch {
	case c == nil:
		return nil
	case s.Server != nil && len(c.Server) > 0:
		return c.Server
	}
	return c.Client
}

// CPUList are CPUs by the kernel's numbers, sorted.
type CPUList []int

// String writes the list as files have it: "0-2,5".
func (l CPUList) String() string {
	var parts []string
	for i := 0; i < len(l); {
		last := i
		for last+1 < len(l) && l[last+1] == l[last]+1 {
			last++
		}
		part := strconv.Itoa(l[i])
		if last > i {
			part += "-" + strconv.Itoa(l[last])
		}
		parts, i = append(parts, part), last+1
	}
	return strings.Join(parts, ",")
}
