package read

import (
	"regexp"

	"assay/internal/experiment"
)

// startedArm is an arm without a name of its own, whose server Assay starts.
type startedArm struct {
	name            *string // its driver's, until something better is known
	driver, program string  // "": the one that is installed
}

// nameByPrograms names arms after what their programs tell: after the product, where a program is named
// that is of another one than the driver's; and, where programs of one product differ, after the version
// too, as far as that tells them apart. of may be nil; a program that tells nothing changes no name.
func nameByPrograms(arms []startedArm, of func(driver string) (experiment.Program, bool)) {
	if of == nil {
		return
	}
	type telling struct{ product, version string }
	told := map[[2]string]telling{}
	tell := func(a startedArm) telling {
		key := [2]string{a.driver, a.program}
		if _, asked := told[key]; !asked {
			told[key] = telling{}
			if program, known := of(a.driver); known {
				if product, version, err := program.Identify(a.program); err == nil {
					told[key] = telling{product, version}
				}
			}
		}
		return told[key]
	}
	for _, a := range arms {
		if a.program == "" || *a.name != a.driver {
			continue
		}
		if product := tell(a).product; plainName(product) {
			*a.name = product
		}
	}
	for _, more := range []func(startedArm) string{
		func(a startedArm) string { return behind("-", shortVersion.FindString(tell(a).version)) },
		func(a startedArm) string { return shortVersion.ReplaceAllString(tell(a).version, "") },
		func(a startedArm) string { return behind("-", placeOf(a.program)) },
	} {
		for _, a := range differing(arms) {
			*a.name += more(a)
		}
	}
}

// behind returns a text as a further part of a name; "": of none.
func behind(separator, text string) string {
	if text == "" || text == "." {
		return ""
	}
	return separator + nameOf(text)
}

// shortVersion is as much of a version as people say: 9.1 of 9.1.2.
var shortVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?`)

// differing returns the arms of which another one has the name, but another program.
func differing(arms []startedArm) (same []startedArm) {
	for _, a := range arms {
		for _, other := range arms {
			if *other.name == *a.name && (other.driver != a.driver || other.program != a.program) {
				same = append(same, a)
				break
			}
		}
	}
	return same
}

// shortCommit is a commit as it stands in names: the whole digest would be their end.
func shortCommit(commit string) string {
	if wholeCommit.MatchString(commit) {
		return commit[:10]
	}
	return commit
}

var wholeCommit = regexp.MustCompile(`^[0-9a-f]{40,}$`)
