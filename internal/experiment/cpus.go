package experiment

import (
	"strconv"
	"strings"
)

// CPUs pins each end of a trial to CPUs of its own. Nil or empty: the kernel places it.
type CPUs struct {
	Client CPUList `json:"client,omitempty"` // the worker's, whatever the store
	Server CPUList `json:"server,omitempty"` // of a server that Assay starts; another's is never pinned
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
