package host

import (
	"cmp"
	"os"
	"slices"
	"time"

	"github.com/prometheus/procfs"
)

// Users tells which other programs use the CPU. It sees processes that live from one look to the next,
// with the children that they waited for; what else begins and ends in between is in no answer. It
// is not safe for concurrent use.
type Users struct {
	roots roots
	at    time.Time
	used  map[process]float64 // seconds of CPU time
}

// process identifies one: a number alone is reused.
type process struct {
	pid   int
	start uint64
}

// User is a program that uses the CPU.
type User struct {
	Name string  // as the kernel has it: at most 15 characters
	CPUs float64 // that all its processes together used, on average
}

// NewUsers looks for the first time.
func NewUsers() *Users {
	u := &Users{roots: kernelRoots}
	u.at, u.used, _ = u.look()
	return u
}

// Largest returns the programs that used the most since the first look, those below this process not
// among them, the largest first. What is below a hundredth of a CPU is left out.
func (u *Users) Largest(most int) (largest []User) {
	const leastCPUs = 0.01
	at, used, names := u.look()
	seconds := at.Sub(u.at).Seconds()
	by := map[string]float64{}
	for p, now := range used {
		if before, seen := u.used[p]; seen && seconds > 0 {
			by[names[p]] += (now - before) / seconds
		}
	}
	for name, cpus := range by {
		if cpus >= leastCPUs {
			largest = append(largest, User{name, cpus})
		}
	}
	slices.SortFunc(largest, func(a, b User) int {
		return cmp.Or(cmp.Compare(b.CPUs, a.CPUs), cmp.Compare(a.Name, b.Name))
	})
	return largest[:min(len(largest), most)]
}

func (u *Users) look() (at time.Time, used map[process]float64, names map[process]string) {
	at, used, names = time.Now(), map[process]float64{}, map[process]string{}
	proc, err := procfs.NewFS(u.roots.proc)
	if err != nil {
		return at, used, names
	}
	all, err := proc.AllProcs()
	if err != nil {
		return at, used, names
	}
	own := tree(u.roots, os.Getpid())
	for _, p := range all {
		stat, err := p.Stat()
		if err != nil || slices.Contains(own, p.PID) {
			continue
		}
		id := process{p.PID, stat.Starttime}
		// What ended children had used is their parent's: a compiler lives too short to be seen twice.
		used[id], names[id] = stat.CPUTime()+float64(stat.CUTime+stat.CSTime)*clockTickSeconds, stat.Comm
	}
	return at, used, names
}
