// Package resulttest makes runs of which nothing is to be found, and reports them, for the tests of
// everything between a run directory and a result: a test plants one cause, and sees what is said.
package resulttest
