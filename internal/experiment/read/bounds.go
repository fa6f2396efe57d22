package read

import (
	"strings"
	"time"

	"assay/internal/experiment"
)

// The defaults of what a file leaves out; docs/experiment-file.md lists them.
const (
	defaultRecords       = 10_000
	defaultThreads       = 1
	defaultHandles       = experiment.PerThread
	defaultKeyBytes      = 16
	defaultValueBytes    = 100
	defaultRepeated      = 0.5
	defaultPoolBytes     = 256 << 10 // stays in a second-level cache: a value of 100 bytes costs 6 ns, from 4 MiB 30
	defaultBlocks        = 3         // also the least of blocks: auto
	defaultBlocksMax     = 10
	defaultSmallest      = 0.10
	defaultDetectBlocks  = 5 // with fewer, blocks that happen to be alike end too many runs
	defaultDetectMax     = 30
	defaultRepeats       = 2
	defaultSeed          = 1
	defaultVerifyRecords = 1_000_000
	defaultStepTimeout   = 60 * time.Second
	defaultTheta         = 0.99
	// YCSB's exponential order: most of the operations go to the first of the records.
	defaultFrontRecords    = 0.8571428571
	defaultFrontOperations = 0.95

	defaultHotRecords    = 0.2
	defaultHotOperations = 0.8
	defaultScanMin       = 1
	defaultScanMax       = 100
	defaultQueryLimit    = 10
)

// Bounds that keep a slip of the pen from planning a year.
const (
	storesMax     = 100
	nameBytesMax  = 40
	cellsMax      = 1000
	blocksMax     = 1000
	repeatsMax    = 100
	trialsMax     = 100_000
	sizesMax      = 64
	valueBytesMax = 1 << 30

	stepTimeoutMin = time.Second
)

const plainNameRule = "expected letters, digits and . _ + -, a letter or digit first, at most 40 in all" // nameBytesMax

// plainName says if a name can stand in a file name and on a command line as it is.
func plainName(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("._+-", rune(c))) {
			return false
		}
	}
	return name != ""
}

const (
	phasesMax     = 200 // of the 256 numbers that the contract has for phases: the harness needs some for its own
	operationsMax = 1 << 40
	batchMax      = 100_000
	scanMax       = 1_000_000
	rateMax       = 1e9
	thetaMax      = 10
)

// groupsMax bounds the groups of a phase: each is a table of its own.
const groupsMax = 32

// What a JVM can have at all: below, it does not start.
const (
	heapBytesMin   = 2 << 20
	directBytesMin = 1 << 20
	jvmBytesMax    = 1 << 44
)

const (
	defaultCuts = 20
	cutsMax     = 100_000
)

// smallestMin is the least difference that any comparison shows.
const smallestMin = 0.03
