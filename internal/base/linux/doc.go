// Package linux is what Assay asks of the kernel that only Linux has. Where it is built for another
// system, each of these calls fails with [errors.ErrUnsupported]: reports, comparisons and analysis
// need none of them, and what measures refuses to ([Measures]). The names are those of
// golang.org/x/sys/unix.
package linux
