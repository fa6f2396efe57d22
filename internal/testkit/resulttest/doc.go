// Package resulttest makes runs without a finding, and reports them, for the tests of everything
// between a run directory and a result: a test plants one cause, and looks at the report.
package resulttest
