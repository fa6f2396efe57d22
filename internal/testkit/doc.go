// Package testkit is the floor that only tests, and programs for them, import.
//
//	golden          compares with files that -update writes
//	forms           makes the JSON Schemas of docs/ from types and their comments
//	hostile         puts attacks where results have texts
//	recordtest      makes run directories with known truth
//	resulttest      reports such runs, for the tests of analysis and presentation
//	servertest      starts real servers once a package
//	drivertest      what the drivers' tests share: kills, lies, interfaces
//	loopback        the connections of every stand-in
//	riakstandin     stands in for Riak, which no package has
//	tyrantstandin   stands in for Tokyo Tyrant
//	sshtest         a real sshd on loopback
//	mongojava       a server of MongoDB's protocol from a Maven artefact
//	processes       the processes that a test has started
//	misbehave       workers that lie, stall and die
//	nativebuild     the native workers, made once for all packages
//	chromium        opens pages in a real browser
//	cputime         what the tests of each package cost
//	notice          the licences of what is linked in, in NOTICE
//
// A stand-in shares no code with the driver that it tests.
package testkit
